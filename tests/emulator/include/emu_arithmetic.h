// Builtin functions of device code: arithmetic, roundings and conversions.
// Included by emu_prelude.h, after its types.
#pragma once
// ---- arithmetic
// glibc declares these names for itself.
#define __expf emu_expf
#define __exp10f emu_exp10f
#define __logf emu_logf
#define __log2f emu_log2f
#define __log10f emu_log10f
#define __powf emu_powf
#define __sinf emu_sinf
#define __cosf emu_cosf
#define __tanf emu_tanf
#define __tanhf emu_tanhf
#define __sincosf emu_sincosf
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fmaf_ieee_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __frcp_rn(float a) { return 1.f / a; }
static inline float __frsqrt_rn(float a) { return (float)(1.0 / sqrt((double)a)); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline double __drcp_rn(double a) { return 1. / a; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
#define EMU_ROUND(op, T, body_args, call_args, expr)     \
  static inline T __##op##_rz body_args { return expr; } \
  static inline T __##op##_ru body_args { return expr; } \
  static inline T __##op##_rd body_args { return expr; }
EMU_ROUND(fadd, float, (float a, float b), (a, b), a + b)
EMU_ROUND(fsub, float, (float a, float b), (a, b), a - b)
EMU_ROUND(fmul, float, (float a, float b), (a, b), a* b)
EMU_ROUND(fdiv, float, (float a, float b), (a, b), a / b)
EMU_ROUND(fmaf, float, (float a, float b, float c), (a, b, c), fmaf(a, b, c))
EMU_ROUND(fsqrt, float, (float a), (a), sqrtf(a))
EMU_ROUND(frcp, float, (float a), (a), 1.f / a)
static inline float __fdividef(float a, float b) { return a / b; }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __expf(float a) { return expf(a); }
static inline float __exp10f(float a) { return exp10f(a); }
static inline float __logf(float a) { return logf(a); }
static inline float __log2f(float a) { return log2f(a); }
static inline float __log10f(float a) { return log10f(a); }
static inline float __powf(float a, float b) { return powf(a, b); }
static inline float __sinf(float a) { return sinf(a); }
static inline float __cosf(float a) { return cosf(a); }
static inline float __tanf(float a) { return tanf(a); }
static inline float __tanhf(float a) { return tanhf(a); }
static inline void __sincosf(float a, float* s, float* c) {
  *s = sinf(a);
  *c = cosf(a);
}
static inline float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1.f) : 0.f; }
static inline float rsqrtf(float a) { return (float)(1.0 / sqrt((double)a)); }
static inline double rsqrt(double a) { return 1.0 / sqrt(a); }
static inline float rsqrt(float a) { return rsqrtf(a); }
static inline float sinpif(float a) { return (float)sin(M_PI * fmod((double)a, 2.0)); }
static inline float cospif(float a) { return (float)cos(M_PI * fmod((double)a, 2.0)); }
static inline double sinpi(double a) { return sin(M_PI * fmod(a, 2.0)); }
static inline double cospi(double a) { return cos(M_PI * fmod(a, 2.0)); }
static inline float rcbrtf(float a) { return 1.f / cbrtf(a); }
static inline float normcdff(float a) { return 0.5f * erfcf(-a * (float)M_SQRT1_2); }
static inline double normcdf(double a) { return 0.5 * erfc(-a * M_SQRT1_2); }
static inline float erfcxf(float a) { return (float)(exp((double)a * a) * erfc((double)a)); }
static inline float erfinvf(float y) {
  double x = 0, yy = y;
  if (yy <= -1 || yy >= 1) return yy == 1 ? INFINITY : yy == -1 ? -INFINITY : NAN;
  double w = -log((1 - yy) * (1 + yy)), a = 0.147, l = 2 / (M_PI * a) - w / 2;
  x = copysign(sqrt(sqrt(l * l + w / a) - l), yy);
  for (int i = 0; i < 4; i++) x -= (erf(x) - yy) / (M_2_SQRTPI * exp(-x * x));
  return (float)x;
}
namespace emu {
template <class I, class F>
static inline I f2i(F f) {  // saturating; NaN is 0
  if (!(f == f)) return 0;
  if (f <= (F)std::numeric_limits<I>::min()) return std::numeric_limits<I>::min();
  if (f >= (F)std::numeric_limits<I>::max()) return std::numeric_limits<I>::max();
  return (I)f;
}
}  // namespace emu
#define EMU_F2I(from, F, to, I, rint_, floor_, ceil_, trunc_)                  \
  static inline I __##from##2##to##_rn(F f) { return emu::f2i<I>(rint_(f)); }  \
  static inline I __##from##2##to##_rd(F f) { return emu::f2i<I>(floor_(f)); } \
  static inline I __##from##2##to##_ru(F f) { return emu::f2i<I>(ceil_(f)); }  \
  static inline I __##from##2##to##_rz(F f) { return emu::f2i<I>(trunc_(f)); }
EMU_F2I(float, float, int, int, rintf, floorf, ceilf, truncf)
EMU_F2I(float, float, uint, unsigned, rintf, floorf, ceilf, truncf)
EMU_F2I(float, float, ll, long long, rintf, floorf, ceilf, truncf)
EMU_F2I(float, float, ull, unsigned long long, rintf, floorf, ceilf, truncf)
EMU_F2I(double, double, int, int, rint, floor, ceil, trunc)
EMU_F2I(double, double, uint, unsigned, rint, floor, ceil, trunc)
EMU_F2I(double, double, ll, long long, rint, floor, ceil, trunc)
EMU_F2I(double, double, ull, unsigned long long, rint, floor, ceil, trunc)
#define EMU_I2F(name, I)                                            \
  static inline float __##name##2float_rn(I i) { return (float)i; } \
  static inline float __##name##2float_rz(I i) { return (float)i; } \
  static inline float __##name##2float_rd(I i) { return (float)i; } \
  static inline float __##name##2float_ru(I i) { return (float)i; } \
  static inline double __##name##2double_rn(I i) { return (double)i; }
EMU_I2F(int, int)
EMU_I2F(uint, unsigned) EMU_I2F(ll, long long)
    EMU_I2F(ull, unsigned long long) static inline float __double2float_rn(double d) {
  return (float)d;
}
static inline float __double2float_rz(double d) { return (float)d; }
static inline float __double2float_rd(double d) { return (float)d; }
static inline float __double2float_ru(double d) { return (float)d; }

// min, max and abs are global functions in device code
#define EMU_MINMAX(T)                                               \
  static inline constexpr T min(T a, T b) { return b < a ? b : a; } \
  static inline constexpr T max(T a, T b) { return a < b ? b : a; }
EMU_MINMAX(int)
EMU_MINMAX(unsigned) EMU_MINMAX(long) EMU_MINMAX(unsigned long) EMU_MINMAX(long long)
    EMU_MINMAX(unsigned long long) static inline float min(float a, float b) {
  return fminf(a, b);
}
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
#define EMU_MIX(A, B, R)                                    \
  static inline R min(A a, B b) { return min((R)a, (R)b); } \
  static inline R max(A a, B b) { return max((R)a, (R)b); }
EMU_MIX(int, unsigned, unsigned)
EMU_MIX(unsigned, int, unsigned) EMU_MIX(long, unsigned long, unsigned long)
    EMU_MIX(unsigned long, long, unsigned long)
        EMU_MIX(long long, unsigned long long, unsigned long long)
            EMU_MIX(unsigned long long, long long, unsigned long long)
                EMU_MIX(float, double, double)
                    EMU_MIX(double, float, double) static inline int umin(unsigned a, unsigned b) {
  return a < b ? a : b;
}
static inline int umax(unsigned a, unsigned b) { return a < b ? b : a; }
static inline long long llmin(long long a, long long b) { return a < b ? a : b; }
static inline long long llmax(long long a, long long b) { return a < b ? b : a; }
using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

