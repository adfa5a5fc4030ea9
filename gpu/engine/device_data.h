#pragma once
// The bytes of a data set in a device's memory. They never change, so that those who train on them can share them.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/messages/evaluation.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

class DeviceData {
 public:
  /// Uploads images, and labels where there are any; held-out images are the validation images, then the test images.
  /// Waits. Throws core::OutOfMemory.
  DeviceData(std::shared_ptr<const data::DataSet> data, const std::shared_ptr<core::Device>& device,
             core::Stream& stream);

  void bind_training(plan::Bindings& bindings) const;
  /// With the order in which they are stored.
  void bind_held_out(plan::Bindings& bindings) const;

  const data::DataSet& set() const { return *data_; }
  std::size_t bytes() const;
  /// The split that is looked at where `wanted` is asked for: test where there are no validation images.
  Split present(Split wanted) const { return data_->validation.count > 0 ? wanted : Split::test; }
  const data::ImageSet& images(Split split) const;
  /// The place of the split's first image among the held-out images.
  std::int64_t first_of(Split split) const;

 private:
  std::shared_ptr<const data::DataSet> data_;
  core::Buffer train_images_, train_labels_, held_out_images_, held_out_labels_, held_out_order_;
};

}  // namespace warpscope::training
