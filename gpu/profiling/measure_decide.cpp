// What trials of steps say of their calls.

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "gpu/profiling/measure.h"

namespace warpscope::profiling {
namespace {

/// Sets of nodes that are compared as wholes.
class Ties {
 public:
  explicit Ties(std::size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0u); }

  void tie(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

  void tie_calls_of(const Trial& trial) {
    std::map<int, std::size_t> by_tensor;
    for (std::size_t n = 0; n < trial.nodes.size(); ++n) {
      for (const int other : trial.nodes[n].covers) tie(n, static_cast<std::size_t>(other));
      for (const int tensor : trial.private_tensors[n])
        tie(n, by_tensor.try_emplace(tensor, n).first->second);
    }
  }

  std::vector<std::vector<std::size_t>> groups() {
    std::map<std::size_t, std::vector<std::size_t>> by_root;
    for (std::size_t n = 0; n < parent_.size(); ++n) by_root[root(n)].push_back(n);
    std::vector<std::vector<std::size_t>> result;
    for (auto& [first, nodes] : by_root) result.push_back(std::move(nodes));
    return result;
  }

 private:
  std::size_t root(std::size_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }

  std::vector<std::size_t> parent_;
};

Spread spread_over(const NodeSamples& samples, const std::vector<std::size_t>& nodes) {
  std::vector<double> sums;
  for (const std::vector<double>& step : samples) {
    double sum = 0;
    for (const std::size_t n : nodes) sum += step[n];
    sums.push_back(sum);
  }
  return spread_of(std::move(sums));
}

/// What a trial gains over some nodes.
struct Gain {
  const Trial* trial = nullptr;
  std::vector<std::size_t> nodes;
  Spread rules;
  Spread times;
  double places = 1;  ///< of the same calls, over which these are summed up

  double microseconds() const { return rules.median - times.median; }
  double ratio() const { return times.median > 0 ? rules.median / times.median : 0; }
};

/// The best trial of these nodes; none if none is faster.
Gain best_of(const std::vector<Trial>& trials, const std::vector<std::size_t>& nodes) {
  Gain best;
  for (const Trial& trial : trials) {
    Gain gain{&trial, nodes, spread_over(trial.rules, nodes), spread_over(trial.times, nodes)};
    if (gain.ratio() < kLeastGainOfCalls || gain.times.p90 >= gain.rules.p10) continue;
    if (best.trial == nullptr || gain.ratio() > best.ratio()) best = std::move(gain);
  }
  return best;
}

}  // namespace

plan::MeasuredChoices decide(const Trial& rules, const std::vector<Trial>& trials,
                             core::Precision precision) {
  std::vector<std::string> keys;
  for (const plan::PlanNode& node : rules.nodes) {
    keys.push_back(plan::call_key(node.op, precision, node.shape));
  }
  Ties ties(rules.nodes.size());
  ties.tie_calls_of(rules);
  for (const Trial& trial : trials) ties.tie_calls_of(trial);

  std::map<std::vector<std::string>, std::vector<std::size_t>> alike;
  for (const std::vector<std::size_t>& group : ties.groups()) {
    std::vector<std::string> calls;
    for (const std::size_t n : group) calls.push_back(keys[n]);
    std::vector<std::size_t>& nodes = alike[std::move(calls)];
    nodes.insert(nodes.end(), group.begin(), group.end());
  }
  std::vector<Gain> gains;
  for (const auto& [calls, nodes] : alike) {
    Gain gain = best_of(trials, nodes);
    if (gain.trial == nullptr) continue;
    const std::size_t places = nodes.size() / calls.size();
    gain.places = static_cast<double>(places);
    gains.push_back(std::move(gain));
  }
  std::ranges::stable_sort(gains,
                           [](const Gain& a, const Gain& b) { return a.microseconds() > b.microseconds(); });

  plan::MeasuredChoices choices;
  for (const Gain& gain : gains) {
    for (const std::size_t n : gain.nodes) {
      const ops::Variant* const before = rules.nodes[n].variant;
      const ops::Variant* const after = gain.trial->nodes[n].variant;
      if (before == nullptr || after == nullptr || before->name == after->name) continue;
      choices.try_emplace(keys[n], plan::MeasuredChoice{after->name, gain.times.median / gain.places,
                                                        before->name, gain.rules.median / gain.places});
    }
  }
  return choices;
}

}  // namespace warpscope::profiling
