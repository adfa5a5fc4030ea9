// Texts between a window and the trainer: what is typed, and held-out ones.

#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gpu/training/trainer.h"
#include "tests/support/tiny_text.h"
#include "tests/support/tiny_trainer.h"
#include "tests/support/waiting.h"

namespace warpscope::training::trainer_texts_test {
namespace {

using tests::wait_for_state;
using tests::wait_for_step;

TrainerOptions text_options(bool paused = false) {
  TrainerOptions options = tests::tiny_trainer_options();
  options.model = tests::tiny_text_model();
  options.data_set = std::make_shared<data::DataSet>(tests::tiny_text_data(80, 30));
  options.start_paused = paused;
  return options;
}

Observe typed(const std::string& text, std::optional<int> target = std::nullopt) {
  Observe observe;
  observe.request.typed_text = TypedText{text, target};
  return observe;
}

using Seen = std::shared_ptr<const TextAttributions>;

/// Waits until the newest answer of `field` fulfils `condition`; nullptr and a test failure if none does.
template <class Condition>
Seen wait_for(const Trainer& trainer, Seen Observations::*field, Condition condition) {
  Seen found;
  const bool came = tests::eventually([&] {
    found = trainer.observations().*field;
    return found != nullptr && condition(*found);
  });
  EXPECT_TRUE(came);
  return came ? found : nullptr;
}

auto of_text(const std::string& text) {
  return [text](const TextAttributions& seen) { return seen.texts.front().text == text; };
}

TEST(TrainerTexts, AreAnsweredAndFollowTheTraining) {
  Trainer trainer(text_options());
  ASSERT_TRUE(wait_for_step(trainer, 1));
  EXPECT_EQ(trainer.observations().typed_text, nullptr);
  trainer.send(typed("a text"));
  const Seen first = wait_for(trainer, &Observations::typed_text, of_text("a text"));
  ASSERT_NE(first, nullptr);
  const Seen later = wait_for(trainer, &Observations::typed_text,
                              [&](const TextAttributions& now) { return now.step > first->step; });
  ASSERT_NE(later, nullptr);
  EXPECT_GT(later->number, first->number);
  EXPECT_NE(later->texts.front().scores, first->texts.front().scores);
}

TEST(TrainerTexts, OfAPausedTrainingChangeWithEachLetterAndTheClassAlone) {
  Trainer trainer(text_options(true));
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  std::string text;
  Seen last;
  for (const char letter : std::string("the sea")) {
    text += letter;
    trainer.send(typed(text));
    const Seen now = wait_for(trainer, &Observations::typed_text, of_text(text));
    ASSERT_NE(now, nullptr);
    EXPECT_EQ(now->step, 0u);
    EXPECT_EQ(now->texts.front().shares.size(), text.size());
    if (last) {
      EXPECT_NE(now->texts.front().scores, last->texts.front().scores);
    }
    last = now;
  }
  ASSERT_TRUE(tests::wait_for_an_idle_round(trainer));
  EXPECT_EQ(trainer.observations().typed_text, last) << "nothing has changed";
  const int other = (last->texts.front().target + 1) % 4;
  trainer.send(typed(text, other));
  const Seen explained = wait_for(trainer, &Observations::typed_text, [other](const TextAttributions& now) {
    return now.texts.front().target == other;
  });
  ASSERT_NE(explained, nullptr);
  EXPECT_EQ(explained->texts.front().scores, last->texts.front().scores);
  EXPECT_NE(explained->texts.front().shares, last->texts.front().shares);
  trainer.send(Observe{});
  EXPECT_TRUE(tests::eventually([&] { return trainer.observations().typed_text == nullptr; }));
}

TEST(TrainerTexts, OfAnyKindLetTheTrainingGoOn) {
  Trainer trainer(text_options());
  const std::string odd[] = {"", "\xf0\x9f\x9a\x80", "\xff\xfe", std::string(50000, 'x'),
                             std::string(3, '\0')};
  for (const std::string& text : odd) {
    trainer.send(typed(text));
    ASSERT_NE(wait_for(trainer, &Observations::typed_text, of_text(text)), nullptr);
  }
  trainer.send(typed("x", 99));
  ASSERT_TRUE(tests::eventually(
      [&] { return trainer.snapshot()->notice == "there is no class 99; there are 4, from 0"; }));
  EXPECT_TRUE(wait_for_step(trainer, trainer.snapshot()->step + 2));
}

TEST(TrainerTexts, OfTheHeldOutSetAreAnswered) {
  Trainer trainer(text_options(true));
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  Observe observe;
  observe.request.held_out_texts = HeldOutTexts{false, {4, 2}};
  trainer.send(observe);
  const Seen seen = wait_for(trainer, &Observations::held_out_texts,
                             [](const TextAttributions& now) { return now.texts.size() == 2; });
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->texts[0].text, text_options().data_set->test.texts[4]);
  EXPECT_EQ(seen->texts[1].place, 2);
  EXPECT_FALSE(seen->validation);
}

}  // namespace
}  // namespace warpscope::training::trainer_texts_test
