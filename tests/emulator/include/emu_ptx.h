// What translated PTX calls.
#pragma once
#include "emu_api.h"
namespace emu {
struct b128 {
  uint64_t a, b;
};
inline float h2f_(uint16_t h) {
  float r;
  __asm__("vmovd %1, %0\n\tvcvtph2ps %0, %0" : "=x"(r) : "r"((uint32_t)h));
  return r;
}
inline uint16_t f2h_(float f) {
  uint32_t r;
  float t;
  __asm__("vcvtps2ph $0, %2, %1\n\tvmovd %1, %0" : "=r"(r), "=x"(t) : "x"(f));
  return (uint16_t)r;
}
inline float b2f_(uint16_t h) { return rd<float>((uint32_t)h << 16); }
inline uint16_t f2b_(float f) {
  uint32_t u = rd<uint32_t>(f);
  if ((u & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return (uint16_t)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}
template <float (*U)(uint16_t), uint16_t (*D)(float)>
struct Small {
  uint16_t v;
  Small() = default;
  explicit Small(float f) : v(D(f)) {}
  explicit operator float() const { return U(v); }
  Small operator-() const {
    Small r;
    r.v = v ^ 0x8000;
    return r;
  }
};
using F16 = Small<h2f_, f2h_>;
using BF16 = Small<b2f_, f2b_>;
#define EMU_SMALL_OP(op)                                         \
  template <float (*U)(uint16_t), uint16_t (*D)(float)>          \
  inline Small<U, D> operator op(Small<U, D> a, Small<U, D> b) { \
    return Small<U, D>((float)a op(float) b);                    \
  }
EMU_SMALL_OP(+)
EMU_SMALL_OP(-) EMU_SMALL_OP(*) EMU_SMALL_OP(/)
#undef EMU_SMALL_OP
#define EMU_SMALL_CMP(op)                                 \
  template <float (*U)(uint16_t), uint16_t (*D)(float)>   \
  inline bool operator op(Small<U, D> a, Small<U, D> b) { \
    return (float)a op(float) b;                          \
  }
    EMU_SMALL_CMP(<) EMU_SMALL_CMP(<=) EMU_SMALL_CMP(>) EMU_SMALL_CMP(>=) EMU_SMALL_CMP(==)
#undef EMU_SMALL_CMP
        template <class S>
        struct Two {
  S x, y;  // low, high
  Two() = default;
  Two(S a, S b) : x(a), y(b) {}
  Two(float a, float b) : x(a), y(b) {}
  Two operator-() const { return Two(-x, -y); }
};
using F16x2 = Two<F16>;
using BF16x2 = Two<BF16>;
using F32x2 = Two<float>;
template <>
struct Two<float> {
  float x, y;
  Two() = default;
  Two(float a, float b) : x(a), y(b) {}
  Two operator-() const { return Two(-x, -y); }
};
template <class S>
inline Two<S> operator+(Two<S> a, Two<S> b) {
  return {a.x + b.x, a.y + b.y};
}
template <class S>
inline Two<S> operator-(Two<S> a, Two<S> b) {
  return {a.x - b.x, a.y - b.y};
}
template <class S>
inline Two<S> operator*(Two<S> a, Two<S> b) {
  return {a.x * b.x, a.y * b.y};
}
inline float fma_(float a, float b, float c) { return fmaf(a, b, c); }
inline double fma_(double a, double b, double c) { return fma(a, b, c); }
template <float (*U)(uint16_t), uint16_t (*D)(float)>
inline Small<U, D> fma_(Small<U, D> a, Small<U, D> b, Small<U, D> c) {
  return Small<U, D>((float)((double)(float)a * (float)b + (float)c));
}
template <class S>
inline Two<S> fma_(Two<S> a, Two<S> b, Two<S> c) {
  return {fma_(a.x, b.x, c.x), fma_(a.y, b.y, c.y)};
}
template <class T>
inline T min_(T a, T b, bool nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return nan ? a : b;
    if (b != b) return nan ? b : a;
  }
  return b < a ? b : a;
}
template <class T>
inline T max_(T a, T b, bool nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a) return nan ? a : b;
    if (b != b) return nan ? b : a;
  }
  return a < b ? b : a;
}
template <float (*U)(uint16_t), uint16_t (*D)(float)>
inline Small<U, D> min_(Small<U, D> a, Small<U, D> b, bool n) {
  return Small<U, D>(min_((float)a, (float)b, n));
}
template <float (*U)(uint16_t), uint16_t (*D)(float)>
inline Small<U, D> max_(Small<U, D> a, Small<U, D> b, bool n) {
  return Small<U, D>(max_((float)a, (float)b, n));
}
template <class S>
inline Two<S> min_(Two<S> a, Two<S> b, bool n) {
  return {min_(a.x, b.x, n), min_(a.y, b.y, n)};
}
template <class S>
inline Two<S> max_(Two<S> a, Two<S> b, bool n) {
  return {max_(a.x, b.x, n), max_(a.y, b.y, n)};
}
inline float relu_(float a) { return a != a ? a : a > 0 ? a : 0.f; }
template <float (*U)(uint16_t), uint16_t (*D)(float)>
inline Small<U, D> relu_(Small<U, D> a) {
  return Small<U, D>(relu_((float)a));
}
template <class S>
inline Two<S> relu_(Two<S> a) {
  return {relu_(a.x), relu_(a.y)};
}
template <class T>
inline T abs_(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(a);
  else
    return a < 0 ? (T)-a : a;
}
template <float (*U)(uint16_t), uint16_t (*D)(float)>
inline Small<U, D> abs_(Small<U, D> a) {
  a.v &= 0x7FFF;
  return a;
}
template <class S>
inline Two<S> abs_(Two<S> a) {
  return {abs_(a.x), abs_(a.y)};
}
template <class F, float (*U)(uint16_t), uint16_t (*D)(float)>
inline Small<U, D> map_(F f, Small<U, D> a) {
  return Small<U, D>(f((float)a));
}
template <class F, class S>
inline Two<S> map_(F f, Two<S> a) {
  return {map_(f, a.x), map_(f, a.y)};
}
template <class T>
inline T bfe_(T a, uint32_t pos, uint32_t len) {
  pos &= 255;
  len &= 255;
  const uint32_t bits = sizeof(T) * 8;
  if (!len || pos >= bits) return 0;
  if (pos + len > bits) len = bits - pos;
  return (T)((T)((std::make_unsigned_t<T>)a << (bits - len - pos)) >> (bits - len));
}
template <class T>
inline T bfi_(T a, T b, uint32_t pos, uint32_t len) {
  pos &= 255;
  len &= 255;
  if (!len || pos >= sizeof(T) * 8) return b;
  uint64_t m = len >= 64 ? ~0ull : (1ull << len) - 1;
  m <<= pos;
  return (T)((b & ~m) | (((uint64_t)a << pos) & m));
}
inline uint32_t lop3_(uint32_t a, uint32_t b, uint32_t c, uint32_t l) {
  uint32_t r = 0;
  if (l & 1) r |= ~a & ~b & ~c;
  if (l & 2) r |= ~a & ~b & c;
  if (l & 4) r |= ~a & b & ~c;
  if (l & 8) r |= ~a & b & c;
  if (l & 16) r |= a & ~b & ~c;
  if (l & 32) r |= a & ~b & c;
  if (l & 64) r |= a & b & ~c;
  if (l & 128) r |= a & b & c;
  return r;
}
template <class S>
inline uint32_t set2_(Two<S> a, Two<S> b, const char* c, bool mask) {
  auto one = [&](float x, float y) {
    bool u = c[2] == 'u', n = x != x || y != y, r;
    if (c[0] == 'e')
      r = x == y;
    else if (c[0] == 'n')
      r = x != y && !n;
    else if (c[0] == 'l')
      r = c[1] == 't' ? x < y : x <= y;
    else
      r = c[1] == 't' ? x > y : x >= y;
    if (c[0] == 'n' && c[1] == 'a') return n;
    return n ? u : r;
  };
  uint32_t one16 = std::is_same_v<S, F16> ? 0x3C00 : 0x3F80;
  uint32_t t = mask ? 0xFFFF : one16;
  return (one((float)a.x, (float)b.x) ? t : 0) | (one((float)a.y, (float)b.y) ? t << 16 : 0);
}
inline uint32_t tf32_(float f) {
  uint32_t u = rd<uint32_t>(f);
  if ((u & 0x7F800000) == 0x7F800000) return u;
  return (u + 0x1000) & 0xFFFFE000;
}
inline void poll_() { yield_poll("polls global memory"); }
template <class T>
struct is_small : std::false_type {};
template <float (*U)(uint16_t), uint16_t (*D)(float)>
struct is_small<Small<U, D>> : std::true_type {};
template <class D, class S>
inline D cvt_(S s, int rnd, bool sat) {
  if constexpr (is_small<S>::value)
    return cvt_<D, float>((float)s, rnd, sat);
  else if constexpr (is_small<D>::value) {
    float f = (float)s;
    if constexpr (is_small<S>::value || std::is_same_v<S, float>)
      f = rnd == 1   ? rintf(f)
          : rnd == 2 ? truncf(f)
          : rnd == 3 ? floorf(f)
          : rnd == 4 ? ceilf(f)
                     : f;
    if (sat) f = f > 0 ? (f < 1 ? f : 1.f) : 0.f;
    return D(f);
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D>) {
    double x = s;
    x = rnd == 2 ? trunc(x) : rnd == 3 ? floor(x) : rnd == 4 ? ceil(x) : rint(x);
    if (!(x == x)) return 0;
    if (x <= (double)std::numeric_limits<D>::min()) return std::numeric_limits<D>::min();
    if (x >= (double)std::numeric_limits<D>::max()) return std::numeric_limits<D>::max();
    return (D)x;
  } else if constexpr (std::is_floating_point_v<S> && std::is_floating_point_v<D>) {
    D x = (D)s;
    x = rnd == 1   ? std::rint(x)
        : rnd == 2 ? std::trunc(x)
        : rnd == 3 ? std::floor(x)
        : rnd == 4 ? std::ceil(x)
                   : x;
    if (sat) x = x > 0 ? (x < 1 ? x : (D)1) : (D)0;
    return x;
  } else if constexpr (std::is_integral_v<S> && std::is_integral_v<D>) {
    if (sat) {
      __int128 v = s, lo = std::numeric_limits<D>::min(), hi = std::numeric_limits<D>::max();
      return (D)(v < lo ? lo : v > hi ? hi : v);
    }
    return (D)s;
  } else
    return (D)s;
}
// e4m3 and e5m2 with saturation, to nearest even
inline uint8_t f2fp8_(float f, bool e4) {
  uint32_t u = rd<uint32_t>(f);
  uint8_t sign = u >> 24 & 0x80;
  u &= 0x7FFFFFFF;
  if (u > 0x7F800000) return sign | 0x7F;
  float a = rd<float>(u);
  const int mant = e4 ? 3 : 2, bias = e4 ? 7 : 15;
  const float top = e4 ? 448.f : 57344.f;
  if (a >= top) return sign | (e4 ? 0x7E : 0x7B);
  int e;
  frexpf(a, &e);
  e -= 1;
  if (a == 0) return sign;
  int emin = 1 - bias;
  if (e < emin) e = emin;
  float q = rintf(ldexpf(a, mant - e));  // in units of the last place
  uint32_t r = (uint32_t)q;
  uint32_t code = r < (1u << mant) ? r : ((uint32_t)(e + bias) << mant) + (r - (1u << mant));
  if (e4 && code > 0x7E) code = 0x7E;
  if (!e4 && code > 0x7B) code = 0x7B;
  return sign | (uint8_t)code;
}
inline uint16_t fp8_pack_(float lo, float hi, bool e4) {
  return (uint16_t)(f2fp8_(lo, e4) | f2fp8_(hi, e4) << 8);
}
template <class S>
inline uint16_t fp8_pack_(Two<S> v, bool e4) {
  return fp8_pack_((float)v.x, (float)v.y, e4);
}
inline float fp82f_(uint8_t v, bool e4) {
  if (!e4) return h2f_((uint16_t)(v << 8));
  int e = v >> 3 & 15, m = v & 7;
  float r = e ? ldexpf(1 + m / 8.f, e - 7) : ldexpf(m / 8.f, -6);
  if (e == 15 && m == 7) r = NAN;
  return v & 128 ? -r : r;
}
inline F16x2 fp8_unpack_(uint16_t v, bool e4) {
  return F16x2(fp82f_(v & 255, e4), fp82f_(v >> 8, e4));
}
// A read-modify-write of memory; one that changes nothing may be a poll, so others get a turn.
template <class T, class F>
__attribute__((noinline, no_sanitize("thread"))) inline T atom_(char* q, F f) {
  atomic_order();
  T o, n;
  memcpy(&o, q, sizeof(T));
  n = f(o);
  memcpy(q, &n, sizeof(T));
  if (memcmp(&o, &n, sizeof(T)) == 0) yield_poll("atomic operation that changes nothing");
  return o;
}
}  // namespace emu
