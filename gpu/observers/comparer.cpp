#include "gpu/observers/comparer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gpu/core/error.h"

namespace warpscope::training {

bool Comparer::Entry::ready() const {
  return made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

bool Comparer::ask(const ObservationRequest& request) {
  if (request.comparison == request_) return false;
  request_ = request.comparison;
  if (look_.busy()) stop_ = true;
  if (request_ && request_->reconstructors.size() > ComparisonRequest::kMost) {
    request_->reconstructors.resize(ComparisonRequest::kMost);
  }
  return true;
}

/// The pass of `setup`: that of an entry that it serves for too, else a new one, built by a thread.
std::shared_future<std::shared_ptr<Comparer::Made>> Comparer::make(const ComparisonSetup& setup,
                                                                   const std::vector<Entry>& fresh) const {
  for (const std::vector<Entry>* const list : {&entries_, &fresh}) {
    for (const Entry& entry : *list) {
      if (entry.setup.same_as(setup)) return entry.made;
    }
  }
  return std::async(std::launch::async,
                    [setup] {
                      auto made = std::make_shared<Made>();
                      try {
                        made->pass = std::make_unique<ComparisonPass>(setup);
                      } catch (const core::Error& error) {
                        made->failure = error.what();
                      }
                      return made;
                    })
      .share();
}

/// Those that serve on are kept, the others are built.
void Comparer::renew_entries(const Scene& scene) {
  std::vector<Entry> fresh;
  for (const Reconstructor& reconstructor : request_->reconstructors) {
    const ComparisonSetup setup = comparison_setup(scene, *request_, reconstructor);
    fresh.push_back({setup, make(setup, fresh)});
  }
  entries_ = std::move(fresh);
}

bool Comparer::start(const Scene& scene) {
  if (look_.busy()) return false;
  renew_entries(scene);
  if (!std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.ready(); }))
    return false;
  what_ = Comparison{};
  what_.request = *request_;
  what_.step = scene.step;
  what_.generation = scene.generation;
  looking_ = entries_;
  beside_ = scene.device->kind() == core::DeviceKind::cpu;
  look_.start(scene, [&] {
    bool with_originals = true;
    for (ComparisonPass* const pass : passes()) {
      if (beside_) {
        pass->copy_weights(scene.stream, scene.parameters);
      } else {
        pass->enqueue(scene.stream, std::exchange(with_originals, false), stop_);
      }
    }
  });
  return true;
}

/// Those of the look under way. Reconstructors that come to the same share a pass.
std::vector<ComparisonPass*> Comparer::passes() const {
  std::vector<ComparisonPass*> found;
  for (const Entry& entry : looking_) {
    ComparisonPass* const pass = entry.made.get()->pass.get();
    if (pass != nullptr && std::find(found.begin(), found.end(), pass) == found.end()) found.push_back(pass);
  }
  return found;
}

/// The passes of the look under way, by the calling thread, from weights that have been copied.
Comparer::Done Comparer::run() const {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  bool with_originals = true;
  for (ComparisonPass* const pass : passes()) {
    pass->enqueue(pass->stream(), std::exchange(with_originals, false), stop_);
    pass->stream().synchronize();
  }
  return {collect(), std::chrono::duration<double>(Clock::now() - begin).count()};
}

Comparison Comparer::collect() const {
  Comparison result = what_;
  for (const Entry& entry : looking_) {
    const Made& made = *entry.made.get();
    result.reconstructions.push_back(made.pass ? made.pass->reconstruction()
                                               : Reconstruction{made.failure, {}, {}});
    if (!made.pass || !result.original.empty()) continue;
    result.shape = made.pass->shape();
    result.original = made.pass->originals();
  }
  return result;
}

bool Comparer::take(Observations& seen) {
  std::optional<Done> found = look_.take([this] {
    return beside_ ? run() : Done{collect(), look_.seconds()};
  });
  if (!found) return false;
  const bool stopped = stop_.exchange(false);
  looking_.clear();
  if (stopped || found->comparison.request != request_) return false;
  seconds_ = found->seconds;
  found->comparison.number = ++taken_;
  seen.comparison = std::make_shared<const Comparison>(std::move(found->comparison));
  return true;
}

void Comparer::end(Observations& seen) {
  stop_ = true;
  look_.forget();
  stop_ = false;
  looking_.clear();
  entries_.clear();
  seen.comparison = nullptr;
}

}  // namespace warpscope::training
