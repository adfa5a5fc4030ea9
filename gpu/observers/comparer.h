#pragma once
// Shows what several networks make of the same images.

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/observers/comparison_pass.h"
#include "gpu/observers/look.h"

namespace warpscope::training {

/// Observations::comparison of ObservationRequest::comparison. Plans are built by threads of their own, so that a
/// step waits for none; all of the same look are of the same step. A GPU does the passes between two steps; on a CPU
/// a thread does them from a copy of the weights, since there the trainer's own thread would. What cannot be built
/// says why in Reconstruction::failure, and the others are shown.
class Comparer final : public Observer {
 public:
  Comparer() = default;
  ~Comparer() override { stop_ = true; }

  bool ask(const ObservationRequest& request) override;
  bool wanted() const override { return request_ && !request_->reconstructors.empty(); }
  bool start(const Scene& scene) override;
  bool take(Observations& seen) override;
  void end(Observations& seen) override;
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
    bool ready() const;
  };

  std::shared_future<std::shared_ptr<Made>> make(const ComparisonSetup& setup,
                                                 const std::vector<Entry>& fresh) const;
  void renew_entries(const Scene& scene);
  /// A look that is done, and the time that it took.
  struct Done {
    Comparison comparison;
    double seconds = 0;
  };
  std::vector<ComparisonPass*> passes() const;
  Done run() const;
  Comparison collect() const;

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

}  // namespace warpscope::training
