// Shows what several networks make of the same images.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/observers/comparison_pass.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {
namespace {

/// Observations::comparison of ObservationRequest::comparison. Plans are built by threads of their own, so that a
/// step waits for none; all of the same look are of the same step. A GPU does the passes between two steps; on a CPU
/// a thread does them from a copy of the weights, since there the trainer's own thread would. What cannot be built
/// says why in Reconstruction::failure, and the others are shown.
class Comparer final : public Observer {
 public:
  Comparer() = default;
  ~Comparer() override { stop_ = true; }

  bool ask(const ObservationRequest& request) override {
    if (request.comparison == request_) return false;
    request_ = request.comparison;
    if (look_.busy()) stop_ = true;
    if (request_ && request_->reconstructors.size() > ComparisonRequest::kMost) {
      request_->reconstructors.resize(ComparisonRequest::kMost);
    }
    return true;
  }

  bool wanted() const override { return request_ && !request_->reconstructors.empty(); }
  bool start(const Scene& scene) override {
    if (look_.busy()) return false;
    renew_entries(scene);
    if (!std::ranges::all_of(entries_, [](const Entry& entry) { return entry.ready(); })) return false;
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

  bool take(Observations& seen) override {
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

  void end(Observations& seen) override {
    stop_ = true;
    look_.forget();
    stop_ = false;
    looking_.clear();
    entries_.clear();
    seen.comparison = nullptr;
  }

  double seconds() const override { return seconds_; }

 private:
  /// One reconstructor's pass, or the reason why there is none.
  struct Made {
    std::unique_ptr<ComparisonPass> pass;
    std::string failure;
  };
  struct Entry {
    ComparisonSetup setup;
    std::shared_future<std::shared_ptr<Made>> made;
    bool ready() const { return made.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  };

  /// The pass of `setup`: that of an entry that it serves for too, else a new one, built by a thread.
  std::shared_future<std::shared_ptr<Made>> make(const ComparisonSetup& setup,
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
  void renew_entries(const Scene& scene) {
    std::vector<Entry> fresh;
    for (const Reconstructor& reconstructor : request_->reconstructors) {
      const ComparisonSetup setup = comparison_setup(scene, *request_, reconstructor);
      fresh.push_back({setup, make(setup, fresh)});
    }
    entries_ = std::move(fresh);
  }

  /// A look that is done, and the time that it took.
  struct Done {
    Comparison comparison;
    double seconds = 0;
  };
  /// Those of the look under way. Reconstructors that come to the same share a pass.
  std::vector<ComparisonPass*> passes() const {
    std::vector<ComparisonPass*> found;
    for (const Entry& entry : looking_) {
      ComparisonPass* const pass = entry.made.get()->pass.get();
      if (pass != nullptr && std::ranges::find(found, pass) == found.end()) found.push_back(pass);
    }
    return found;
  }

  /// The passes of the look under way, by the calling thread, from weights that have been copied.
  Done run() const {
    const auto begin = core::Clock::now();
    bool with_originals = true;
    for (ComparisonPass* const pass : passes()) {
      pass->enqueue(pass->stream(), std::exchange(with_originals, false), stop_);
      pass->stream().synchronize();
    }
    return {collect(), core::seconds_since(begin)};
  }

  Comparison collect() const {
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

  std::optional<ComparisonRequest> request_;
  std::vector<Entry> entries_;      ///< one a reconstructor
  Comparison what_;                 ///< the look under way, without its pictures
  std::vector<Entry> looking_;      ///< its entries
  bool beside_ = false;             ///< its passes are made by the thread
  std::atomic<bool> stop_ = false;  ///< nobody waits for the look any more
  double seconds_ = 0;
  std::uint64_t taken_ = 0;
  Look<Done> look_;  ///< last, so that its thread ends before what it reads
};

}  // namespace

std::unique_ptr<Observer> make_comparer() {
  return std::make_unique<Comparer>();
}

}  // namespace warpscope::training
