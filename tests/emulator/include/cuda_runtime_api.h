// Stands in for CUDA's header of that name.
#pragma once
#include "emu_prelude.h"
