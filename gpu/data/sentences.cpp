#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/data/set_kinds.h"
#include "gpu/data/text_sets.h"

namespace warpscope::data {
namespace {

constexpr std::int64_t kMostSentences = 1'000'000;

// Far apart, so that no sentence of one set has the seed of one of the other.
constexpr std::uint64_t kTrainSentences = 0x7365'6e74'0000'0000ULL;
constexpr std::uint64_t kTestSentences = 0x776f'7264'0000'0000ULL;

using Words = std::array<std::string_view, 8>;

struct Topic {
  std::string_view name;
  Words who, does, what, where;
};

constexpr std::array kTopics{
    Topic{"weather",
          {"the storm", "a cold wind", "heavy rain", "the fog", "a thin cloud", "the frost", "bright sun",
           "wet snow"},
          {"covers", "cools", "soaks", "hides", "blows over", "darkens", "warms", "leaves"},
          {"the hills", "the fields", "the whole valley", "the coast", "every roof", "the bay",
           "the low ground", "the northern plain"},
          {"by the evening", "before dawn", "until Thursday", "at 5 degrees", "in the west",
           "all through May", "after a dry week", "with 20 mm"}},
    Topic{"kitchen",
          {"the cook", "my aunt", "the baker", "a hungry guest", "our chef", "the new waiter", "grandfather",
           "she"},
          {"stirs", "fries", "bakes", "peels", "tastes", "chops", "boils", "salts"},
          {"the soup", "two onions", "a plum cake", "fresh bread", "the potatoes", "some garlic",
           "a pan of rice", "the sauce"},
          {"for 10 minutes", "in butter", "on a low flame", "with pepper", "for lunch", "in the oven",
           "and a spoon of oil", "until it is brown"}},
    Topic{"sport",
          {"the striker", "our goalkeeper", "the team", "a young runner", "the captain", "their coach",
           "the champion", "the referee"},
          {"wins", "loses", "opens", "decides", "misses", "leads", "ends", "repeats"},
          {"the match", "the second half", "the final", "a penalty", "the race", "the last set",
           "the cup tie", "the season"},
          {"by 3 to 1", "in overtime", "at home", "before 9,000 fans", "with a header", "in record time",
           "after a foul", "on the last lap"}},
    Topic{"travel",
          {"the tourist", "a late train", "our bus", "the ferry", "the guide", "a family of five",
           "the pilot", "my luggage"},
          {"reaches", "crosses", "leaves", "books", "visits", "passes", "looks for", "misses"},
          {"the old harbour", "the border", "a small hotel", "platform 7", "the museum", "the island",
           "gate B12", "the night express"},
          {"without a ticket", "on Sunday", "by the sea road", "two hours late", "with a map",
           "for three nights", "near the station", "via Vienna"}}};

constexpr auto kTopicCount = static_cast<int>(kTopics.size());

/// Uniform from 0 to `below` - 1, but for what a remainder of 64 bits adds.
std::size_t draw(core::SplitMix64& random, std::size_t below) {
  return static_cast<std::size_t>(random.next() % below);
}

/// Two neighbouring characters in the wrong order, or one left out.
void slip(core::SplitMix64& random, std::string& text) {
  const std::size_t at = 1 + draw(random, text.size() - 2);
  if (random.next() % 2 == 0) {
    std::swap(text[at], text[at + 1]);
  } else {
    text.erase(at, 1);
  }
}

/// Each run of so many sentences as there are topics is a permutation of them.
int topic_of(std::uint64_t seed, std::int64_t index, int topics) {
  core::SplitMix64 random(core::mix_bits(seed - static_cast<std::uint64_t>(index / topics) - 1));
  std::array<int, kTopics.size()> order{};
  for (int i = 0; i < topics; ++i) order[static_cast<std::size_t>(i)] = i;
  for (auto i = static_cast<std::size_t>(topics) - 1; i > 0; --i)
    std::swap(order[i], order[draw(random, i + 1)]);
  return order[static_cast<std::size_t>(index % topics)];
}

ImageSet make_set(const Requirements& model, const Alphabet& alphabet, int topics, std::int64_t count,
                  std::uint64_t seed) {
  if (count < 0 || count > kMostSentences) {
    throw core::BadInput(fmt::format("the built-in sentences can be 0 to {}, not {}", kMostSentences, count));
  }
  ImageSet set{model.shape.height, model.shape.width, model.shape.channels, 0, {}, {}, {}};
  set.pixels.reserve(static_cast<std::size_t>(count * set.image_bytes()));
  for (std::int64_t i = 0; i < count; ++i) {
    const int topic = topic_of(seed, i, topics);
    add_text(sentence(seed, i, topic), static_cast<std::uint8_t>(topic), alphabet, set);
  }
  return set;
}

}  // namespace

std::vector<std::string> sentence_classes() {
  std::vector<std::string> names;
  for (const Topic& topic : kTopics) names.emplace_back(topic.name);
  return names;
}

std::string sentence(std::uint64_t seed, std::int64_t index, int topic) {
  const Topic& words = kTopics[static_cast<std::size_t>(topic)];
  core::SplitMix64 random(core::mix_bits(seed + static_cast<std::uint64_t>(index)));
  const auto one_of = [&](const Words& list) { return list[draw(random, list.size())]; };
  const std::string_view who = one_of(words.who), does = one_of(words.does), what = one_of(words.what);
  const std::string_view where = one_of(words.where);
  std::string text = random.next() % 4 == 0 ? fmt::format("{}, {} {} {}", where, who, does, what)
                                            : fmt::format("{} {} {} {}", who, does, what, where);
  if (random.next() % 4 == 0) slip(random, text);
  text.front() =
      text.front() >= 'a' && text.front() <= 'z' ? static_cast<char>(text.front() - 32) : text.front();
  return text + (random.next() % 8 == 0 ? "!" : ".");
}

DataSet make_sentences(const Requirements& model, std::int64_t train, std::int64_t test) {
  check_kind("the built-in set of sentences", true, model);
  const Alphabet alphabet(model.alphabet);
  const int topics = model.classes > 0 ? std::min(model.classes, kTopicCount) : kTopicCount;
  DataSet set;
  set.classes = sentence_classes();
  set.classes.resize(static_cast<std::size_t>(topics));
  check_memory("the built-in sentences", train + test, model.shape);
  set.train = make_set(model, alphabet, topics, train, kTrainSentences);
  set.test = make_set(model, alphabet, topics, test, kTestSentences);
  return set;
}

}  // namespace warpscope::data
