#pragma once
// The arithmetic of the update rules, one element at a time: the reference computes with it in double,
// `loops` and the CUDA kernels in float. A new rule is a row in update_rule.h and its formula in rule_step().
// Sources: optimizer.cpp.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpu/core/both.h"
#include "gpu/ops/op.h"
#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::optimizer {

/// What an update of all parameters has in common.
template <class Real>
struct Settings {
  Real unscale;       ///< 1 / loss_scale
  Real clip;          ///< factor that brings the gradient's norm down to clip_norm
  Real limit;         ///< of a gradient's magnitude
  Real rate;          ///< of rules that correct the bias: divided by 1 - d^t
  Real decay;         ///< share of the parameter that joins the gradient; of decoupled rules: that it loses
  Real keep;          ///< of decoupled rules: the share that the parameter keeps
  Real first_decay;   ///< d
  Real first_share;   ///< 1 - d
  Real second_decay;  ///< e
  Real second_share;  ///< 1 - e
  Real inverse_root;  ///< of rules that correct the bias: 1 / sqrt(1 - e^t); else 1
  Real epsilon;
};

/// What comes of one element.
template <class Real>
struct Updated {
  Real parameter;  ///< the new one
  Real change;     ///< of the parameter, not rounded to its last place
  Real first;      ///< the new state
  Real second;
};

/// What the rule's row says, for kernels, which cannot read the table when they run.
template <UpdateRule R>
inline constexpr bool kIsDecoupled = row_of(R).decoupled;
template <UpdateRule R>
inline constexpr bool kCorrectsBias = row_of(R).corrects_bias;
template <UpdateRule R>
inline constexpr bool kHasFirstState = states_of(R) >= 1;
template <UpdateRule R>
inline constexpr bool kHasSecondState = states_of(R) >= 2;

/// By repeated squaring: the same bits on every device, and a relative error of at most exponent 2^-53.
WARPSCOPE_BOTH inline double power(double base, std::uint32_t exponent) {
  double result = 1.0;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result *= base;
    base *= base;
  }
  return result;
}

/// The factor that clipping by the global norm puts on the gradient; `squares` is the sum of the norm parts.
template <class Real>
WARPSCOPE_BOTH inline Real clip_factor(const step::StepControl& control, Real squares) {
  if (!(control.clip_norm > 0.0f)) return Real{1};
  const Real norm = std::sqrt(squares) / static_cast<Real>(control.loss_scale);
  const Real factor = static_cast<Real>(control.clip_norm) / (norm + static_cast<Real>(1e-6));
  return factor < Real{1} ? factor : Real{1};
}

/// `squares` is read only where clip_norm > 0.
template <UpdateRule R, class Real>
WARPSCOPE_BOTH inline Settings<Real> settings_of(const step::StepControl& control, Real squares) {
  Settings<Real> s;
  s.unscale = Real{1} / static_cast<Real>(control.loss_scale);
  s.clip = clip_factor(control, squares);
  s.limit = control.clip_value > 0.0f ? static_cast<Real>(control.clip_value)
                                      : std::numeric_limits<Real>::infinity();
  s.rate = static_cast<Real>(control.learning_rate);
  s.decay = static_cast<Real>(control.weight_decay);
  // Rounded once and multiplied with, as in torch.optim: the same small error in every step adds up to what
  // is compared.
  s.keep = static_cast<Real>(1.0 - static_cast<double>(control.learning_rate) *
                                       static_cast<double>(control.weight_decay));
  if constexpr (kIsDecoupled<R>) s.decay *= s.rate;
  s.first_decay = static_cast<Real>(control.first_decay);
  s.first_share = Real{1} - s.first_decay;
  s.second_decay = static_cast<Real>(control.second_decay);
  s.second_share = Real{1} - s.second_decay;
  s.inverse_root = Real{1};
  s.epsilon = static_cast<Real>(control.epsilon);
  if constexpr (kCorrectsBias<R>) {
    const std::uint32_t t = control.updates + 1;
    s.rate /= static_cast<Real>(1.0 - power(static_cast<double>(control.first_decay), t));
    const auto second = static_cast<Real>(1.0 - power(static_cast<double>(control.second_decay), t));
    s.inverse_root = Real{1} / std::sqrt(second);
  }
  return s;
}

/// A NaN stays one.
template <class Real>
WARPSCOPE_BOTH inline Real clipped(const Settings<Real>& s, Real gradient) {
  const Real g = gradient * s.clip;
  if (g > s.limit) return s.limit;
  return g < -s.limit ? -s.limit : g;
}

/// -1, 0 or 1; a NaN stays one.
template <class Real>
WARPSCOPE_BOTH inline Real sign(Real x) {
  if (x == Real{0} || std::isnan(x))
    return x;  // rare: which of the signs it is would be a branch nobody can foresee
  return std::copysign(Real{1}, x);
}

/// a b rounded by itself: a sum with it is not made a fused multiply-add, just as PyTorch's two operations
/// are not.
template <class Real>
WARPSCOPE_BOTH inline Real product(Real a, Real b) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<Real, float>) return __fmul_rn(a, b);
#endif
  return a * b;
}

/// The formula of each rule: the new states, and the change of the parameter but for decoupled weight decay.
/// `g` is the gradient, unscaled, clipped and with what weight decay adds to it.
template <UpdateRule R, class Real>
WARPSCOPE_BOTH inline void rule_step(const Settings<Real>& s, Real g, Real first, Real second,
                                     Updated<Real>& u) {
  if constexpr (R == UpdateRule::sgd) {
    u.change = -s.rate * g;
  } else if constexpr (R == UpdateRule::momentum) {
    u.first = s.first_decay * first + g;
    u.change = -s.rate * u.first;
  } else if constexpr (R == UpdateRule::nesterov) {
    u.first = s.first_decay * first + g;
    u.change = -s.rate * (g + s.first_decay * u.first);
  } else if constexpr (R == UpdateRule::adam || R == UpdateRule::adamw) {
    u.first = s.first_decay * first + s.first_share * g;
    u.second = s.second_decay * second + s.second_share * (g * g);
    u.change = -s.rate * (u.first / (std::sqrt(u.second) * s.inverse_root + s.epsilon));
  } else if constexpr (R == UpdateRule::rmsprop) {
    u.first = s.second_decay * first + s.second_share * (g * g);
    u.change = -s.rate * (g / (std::sqrt(u.first) + s.epsilon));
  } else {
    static_assert(R == UpdateRule::lion, "a rule without a formula");
    u.change = -s.rate * sign(s.first_decay * first + s.first_share * g);
    u.first = s.second_decay * first + s.second_share * g;
  }
}

/// One element: `g` its gradient, unscaled and clipped, `p` the parameter. States that the rule does not have
/// are ignored.
template <UpdateRule R, class Real>
WARPSCOPE_BOTH inline Updated<Real> updated(const Settings<Real>& s, Real g, Real p, Real first,
                                            Real second) {
  Updated<Real> u{p, Real{0}, first, second};
  if constexpr (kIsDecoupled<R>) {
    rule_step<R>(s, g, first, second, u);
    u.parameter = product(s.keep, p) + u.change;
    u.change -= s.decay * p;
  } else {
    rule_step<R>(s, g + s.decay * p, first, second, u);
    u.parameter = p + u.change;
  }
  return u;
}

template <UpdateRule R>
using RuleConstant = std::integral_constant<UpdateRule, R>;

/// Calls f(RuleConstant<rule>{}).
template <class F>
void with_rule(UpdateRule rule, F f) {
  const auto call = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((static_cast<std::size_t>(rule) == I ? f(RuleConstant<static_cast<UpdateRule>(I)>{}) : void()), ...);
  };
  call(std::make_index_sequence<kUpdateRuleCount>{});
}

/// `control` for an update without clipping.
WARPSCOPE_BOTH inline step::StepControl unclipped(step::StepControl control) {
  control.clip_norm = 0.0f;
  control.clip_value = 0.0f;
  return control;
}

}  // namespace warpscope::ops::optimizer
