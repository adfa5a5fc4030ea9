#include "gpu/messages/data_view.h"

#include <utility>

namespace warpscope::training {
namespace {

ImageFacts facts_of(const data::ImageSet& set) {
  return {set.height, set.width, set.channels, set.count, !set.texts.empty(), set.labels};
}

const data::ImageSet& part_of(const data::DataSet& set, DataPart part) {
  return part == DataPart::train ? set.train : part == DataPart::test ? set.test : set.validation;
}

}  // namespace

const ImageFacts& DataView::facts(DataPart part) const {
  return part == DataPart::train ? train : part == DataPart::test ? test : validation;
}

std::optional<OneImage> DataView::image(DataPart part, std::int64_t number) const {
  if (number < 0 || number >= facts(part).count) return std::nullopt;
  if (!whole) return fetch ? fetch(part, number) : std::nullopt;
  const data::ImageSet& set = part_of(*whole, part);
  const auto at = static_cast<std::size_t>(number), bytes = static_cast<std::size_t>(set.image_bytes());
  if ((at + 1) * bytes > set.pixels.size()) return std::nullopt;
  const auto begin = set.pixels.begin() + static_cast<std::ptrdiff_t>(at * bytes);
  return OneImage{{begin, begin + static_cast<std::ptrdiff_t>(bytes)},
                  at < set.texts.size() ? set.texts[at] : std::string()};
}

std::shared_ptr<const DataView> view_of(std::shared_ptr<const data::DataSet> whole) {
  if (!whole) return nullptr;
  DataView view{whole->name,
                whole->classes,
                facts_of(whole->train),
                facts_of(whole->validation),
                facts_of(whole->test),
                {},
                {}};
  view.whole = std::move(whole);
  return std::make_shared<const DataView>(std::move(view));
}

}  // namespace warpscope::training
