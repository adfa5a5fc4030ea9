#include "gpu/training/engine_change.h"

#include <functional>
#include <optional>
#include <vector>

namespace warpscope::training {
namespace {

struct Part {
  bool differs = false;
  std::function<void(const EngineSettings&)> set;
};

/// In an order in which each part is valid beside those before and after it: the smaller of two steps comes first,
/// mixup last, and it goes first.
std::vector<Part> parts_of(Engine& engine, const EngineSettings& before, const EngineSettings& after) {
  const Part batch{before.batch != after.batch,
                   [&engine](const EngineSettings& s) { engine.set_batch(s.batch); }};
  const Part optimizer{!(before.optimizer == after.optimizer),
                       [&engine](const EngineSettings& s) { engine.set_optimizer(s.optimizer); }};
  const Part augment{!(before.augment == after.augment),
                     [&engine](const EngineSettings& s) { engine.set_augment(s.augment); }};
  std::vector<Part> parts{batch, optimizer};
  if (after.batch > before.batch) parts = {optimizer, batch};
  parts.insert(after.augment.mixup > 0 ? parts.end() : parts.begin(), augment);
  std::erase_if(parts, [](const Part& part) { return !part.differs; });
  return parts;
}

}  // namespace

bool same_steps(const EngineSettings& a, const EngineSettings& b) {
  const OptimizerSettings &p = a.optimizer, &q = b.optimizer;
  return a.batch == b.batch && p.rule == q.rule && p.accumulate == q.accumulate &&
         p.per_sample == q.per_sample && (p.joint > 0) == (q.joint > 0) &&
         augments(a.augment) == augments(b.augment) && (a.augment.mixup > 0) == (b.augment.mixup > 0);
}

void change(Engine& engine, const EngineSettings& before, const EngineSettings& after) {
  engine.check_settings(after);  // from here on only memory can be missing
  const std::vector<Part> parts = parts_of(engine, before, after);
  // What the optimizer has gathered comes back with it.
  std::optional<EngineState> state;
  if (parts.size() > 1 && !same_steps(before, after)) state = engine.state();
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    try {
      part->set(after);
    } catch (...) {
      for (++part; part != parts.begin();) (--part)->set(before);
      if (state) engine.restore(*state);
      throw;
    }
  }
}

}  // namespace warpscope::training
