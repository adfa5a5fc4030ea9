#pragma once
// What each character of a text has to do with the class that a network takes the text for.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpscope::training {

/// A text that somebody types.
struct TypedText {
  std::string text;  ///< UTF-8, whole or broken
  /// The class whose score is explained; nothing: the one that the text is taken for.
  std::optional<int> target;

  bool operator==(const TypedText&) const = default;
};

/// Held-out texts. Those on the screen: a pass over each costs what half a training step on it does.
struct HeldOutTexts {
  bool validation = false;  ///< of the validation set, else of the test set
  std::vector<std::int64_t> places = {};

  bool operator==(const HeldOutTexts&) const = default;
};

/// Gradient x input: with s the score (logit) of the target, x_i what the network computes with at the place of
/// character i (a one-hot vector, a row of an embedding, or its byte / 255),
///
///   share_i = sum over the channels c of x_i[c] ds / dx_i[c]
///
/// in inference: nothing is dropped, batch norm takes its running means. For a one-hot vector that is the gradient at
/// its one. Positive: the character speaks for the target. Without biases and normalizations the shares of a ReLU
/// network sum up to the score. Source: A. Shrikumar, P. Greenside, A. Shcherbina, A. Kundaje, "Not just a black box:
/// Learning important features through propagating activation differences" (2016).
struct TextAttribution {
  std::optional<std::int64_t> place;  ///< of a held-out text
  std::string text;                   ///< UTF-8, as it was typed or as the set has it
  int target = 0;
  std::vector<float> scores;        ///< one a class
  std::vector<float> shares;        ///< one a character that was read, the first first
  std::vector<std::uint8_t> known;  ///< of each of them: 1 if the alphabet has it
  std::size_t left_out = 0;         ///< characters behind them, for which the network has no place
  float blank_share = 0;            ///< the shares of the places behind a short text, summed
};

/// The softmax of the scores, in double precision. NaN if a score is.
std::vector<double> probabilities_of(const TextAttribution& text);

/// Texts as the weights of one step see them.
struct TextAttributions {
  std::uint64_t number = 0;  ///< another one for each
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  bool validation = false;       ///< HeldOutTexts::validation
  std::vector<TextAttribution> texts;

  /// nullptr if it is not among them.
  const TextAttribution* find(std::int64_t place) const;
};

}  // namespace warpscope::training
