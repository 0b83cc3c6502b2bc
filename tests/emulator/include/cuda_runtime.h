// Stands in for CUDA's header of that name: the device's builtins, for a CPU.
#pragma once
#include "emu_prelude.h"
