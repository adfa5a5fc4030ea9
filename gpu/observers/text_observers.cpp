#include "gpu/observers/text_observers.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training {
namespace {

constexpr int kTextsAtOnce = 8;

/// A pass for the scene's precision, if need be a new one; nullptr while the one of before is busy.
AttributionPass* pass_for(std::unique_ptr<AttributionPass>& pass, const Scene& scene, int batch,
                          std::size_t most) {
  if (pass && pass->precision() != scene.selection.precision) {
    if (pass->busy()) return nullptr;
    pass.reset();
  }
  if (!pass) pass = std::make_unique<AttributionPass>(scene, batch, most);
  return pass.get();
}

std::vector<AskedText> texts_of(const data::DataSet& data, const HeldOutTexts& asked) {
  const data::ImageSet& set = asked.validation ? data.validation : data.test;
  std::vector<AskedText> texts;
  for (const std::int64_t place : asked.places) {
    if (place < 0 || static_cast<std::size_t>(place) >= set.texts.size()) {
      throw core::BadInput(
          fmt::format("there is no held-out text {}; there are {}, from 0", place, set.texts.size()));
    }
    texts.push_back({place, set.texts[static_cast<std::size_t>(place)]});
  }
  return texts;
}

}  // namespace

bool TypedTextObserver::ask(const ObservationRequest& request) {
  if (request.typed_text == typed_) return false;
  typed_ = request.typed_text;
  return true;
}

bool TypedTextObserver::start(const Scene& scene) {
  AttributionPass* const pass = pass_for(pass_, scene, 1, 1);
  if (pass == nullptr || !pass->start(scene, {{std::nullopt, typed_->text}}, typed_->target)) return false;
  under_way_ = typed_;
  return true;
}

/// What was typed a moment ago is shown too: somebody who types fast sees the classes move.
bool TypedTextObserver::take(Observations& seen) {
  auto found = pass_ ? pass_->take() : std::nullopt;
  if (!found || !typed_ || under_way_->target != typed_->target) return false;
  found->number = ++taken_;
  seen.typed_text = std::make_shared<const TextAttributions>(*std::move(found));
  return true;
}

void TypedTextObserver::end(Observations& seen) {
  pass_.reset();
  seen.typed_text = nullptr;
}

bool HeldOutTextObserver::ask(const ObservationRequest& request) {
  if (request.held_out_texts == texts_) return false;
  texts_ = request.held_out_texts;
  return true;
}

bool HeldOutTextObserver::start(const Scene& scene) {
  std::vector<AskedText> texts = texts_of(scene.data, *texts_);
  AttributionPass* const pass = pass_for(pass_, scene, kTextsAtOnce, kMostTexts);
  if (pass == nullptr || !pass->start(scene, std::move(texts), std::nullopt)) return false;
  under_way_ = texts_;
  return true;
}

bool HeldOutTextObserver::take(Observations& seen) {
  auto found = pass_ ? pass_->take() : std::nullopt;
  if (!found || !texts_ || under_way_->validation != texts_->validation) return false;
  found->number = ++taken_;
  found->validation = under_way_->validation;
  seen.held_out_texts = std::make_shared<const TextAttributions>(*std::move(found));
  return true;
}

void HeldOutTextObserver::end(Observations& seen) {
  pass_.reset();
  seen.held_out_texts = nullptr;
}

}  // namespace warpscope::training
