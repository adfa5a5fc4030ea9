#pragma once
// The images that people watch being reconstructed: made on the training's stream, handed to the window in device
// memory, and kept in host memory for those who ask.

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/core/device.h"
#include "gpu/engine/device_data.h"
#include "gpu/engine/step_loop.h"
#include "gpu/messages/image_exchange.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

class Pictures {
 public:
  /// The first `count` test images; with 0 none are shown.
  Pictures(int count, const DeviceData& data, const StepLoop& loop, std::shared_ptr<core::Device> device,
           core::Stream& stream);

  /// A plan for `model`, which reconstructs and has no head, beside the one in use; none if no images are shown.
  std::unique_ptr<plan::Plan> build(const models::Model& model, const plan::Selection& selection,
                                    const ops::Context& context, plan::Bindings bindings) const;
  /// Returns the plan before, whose last launch may still run.
  std::unique_ptr<plan::Plan> adopt(std::unique_ptr<plan::Plan> next);

  /// Reconstructs the shown images and publishes them. Does nothing and returns false while the pictures before are
  /// still under way, or if none are shown. With `keep` they are copied to the host too.
  bool publish(bool keep = false);
  /// What was kept last, once it has arrived; the generation is the caller's to fill in.
  std::optional<ShownImages> take_kept();
  /// nullptr if no images are shown.
  const std::shared_ptr<ImageExchange>& exchange() const { return exchange_; }
  /// Device time of the last publish() that finished.
  double seconds();

 private:
  void copy_to_host();

  const StepLoop& loop_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  std::unique_ptr<plan::Plan> plan_;
  std::shared_ptr<ImageExchange> exchange_;
  core::Buffer control_;
  std::unique_ptr<core::Event> start_, end_, done_;
  bool pending_ = false;
  double seconds_ = 0;
  core::HostBuffer kept_original_, kept_reconstruction_, kept_errors_;
  std::uint64_t kept_step_ = 0;
  bool kept_pending_ = false;
};

}  // namespace warpscope::training
