#include "gpu/engine/device_data.h"

#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace warpscope::training {
namespace {

/// Both, one behind the other.
core::Buffer uploaded(const std::shared_ptr<core::Device>& device, core::Stream& stream,
                      std::span<const std::uint8_t> first, std::span<const std::uint8_t> second = {}) {
  core::Buffer buffer(device, first.size() + second.size());
  if (!first.empty()) stream.copy(buffer.data(), first.data(), first.size());
  if (!second.empty()) stream.copy(buffer.as<std::byte>() + first.size(), second.data(), second.size());
  stream.synchronize();
  return buffer;
}

}  // namespace

DeviceData::DeviceData(std::shared_ptr<const data::DataSet> data, const std::shared_ptr<core::Device>& device,
                       core::Stream& stream)
    : data_(std::move(data)),
      train_images_(uploaded(device, stream, data_->train.pixels)),
      train_labels_(uploaded(device, stream, data_->train.labels)),
      held_out_images_(uploaded(device, stream, data_->validation.pixels, data_->test.pixels)),
      held_out_labels_(uploaded(device, stream, data_->validation.labels, data_->test.labels)) {
  std::vector<std::uint32_t> stored(static_cast<std::size_t>(data_->validation.count + data_->test.count));
  std::iota(stored.begin(), stored.end(), 0u);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(stored.data());
  held_out_order_ = uploaded(device, stream, {bytes, stored.size() * sizeof(std::uint32_t)});
}

void DeviceData::bind_training(plan::Bindings& bindings) const {
  bindings.images = train_images_.as<std::uint8_t>();
  bindings.labels = train_labels_.as<std::uint8_t>();
  bindings.image_count = data_->train.count;
}

void DeviceData::bind_held_out(plan::Bindings& bindings) const {
  bindings.images = held_out_images_.as<std::uint8_t>();
  bindings.labels = held_out_labels_.as<std::uint8_t>();
  bindings.image_count = data_->validation.count + data_->test.count;
  bindings.order = held_out_order_.as<std::uint32_t>();
}

std::size_t DeviceData::bytes() const {
  return train_images_.bytes() + train_labels_.bytes() + held_out_images_.bytes() + held_out_labels_.bytes() +
         held_out_order_.bytes();
}

const data::ImageSet& DeviceData::images(Split split) const {
  return split == Split::validation ? data_->validation : data_->test;
}

std::int64_t DeviceData::first_of(Split split) const {
  return split == Split::validation ? 0 : data_->validation.count;
}

}  // namespace warpscope::training
