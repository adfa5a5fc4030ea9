#include "gpu/data/requirements.h"

#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"

namespace warpscope::data {
std::string describe(const ImageShape& shape) {
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

void check_kind(const std::string& set, bool texts, const Requirements& model) {
  if (texts == model.takes_texts()) return;
  throw core::BadInput(
      texts ? fmt::format("{} holds texts, but {} takes images of {}", set, model.name, describe(model.shape))
            : fmt::format("{} holds images, but {} takes texts", set, model.name));
}

void check_shape(const std::string& set, const ImageShape& shape, const Requirements& model) {
  if (shape == model.shape) return;
  throw core::BadInput(fmt::format("the images of {} are {}, but {} takes {}", set, describe(shape),
                                   model.name, describe(model.shape)));
}

void check_classes(const std::string& set, std::size_t classes, const Requirements& model) {
  constexpr std::size_t kLeastClasses = 2;
  if (classes < kLeastClasses || classes > kMostClasses) {
    throw core::BadInput(fmt::format("{} has {} class{}; a data set may have {} to {}", set, classes,
                                     classes == 1 ? "" : "es", kLeastClasses, kMostClasses));
  }
  const bool any = model.classes == 0 || model.classes_by_name;
  if (any || std::cmp_less_equal(classes, model.classes)) return;
  throw core::BadInput(
      fmt::format("{} has {} classes, but {} tells {} apart", set, classes, model.name, model.classes));
}

void check_memory(const std::string& set, std::int64_t images, const ImageShape& shape) {
  // In floating point: the product of what files and models claim need not fit 64 bits.
  const double needed = static_cast<double>(images) * shape.height * shape.width * shape.channels;
  const core::HostMemory memory = core::host_memory();
  if (!memory.free || needed <= static_cast<double>(*memory.free)) return;
  throw core::BadInput(fmt::format(
      "the {} images of {} take {} of memory at {}, but the machine has {}; take fewer images or a model "
      "of smaller ones",
      files::grouped(images), set, core::memory_text(needed), describe(shape), memory.text()));
}

}  // namespace warpscope::data
