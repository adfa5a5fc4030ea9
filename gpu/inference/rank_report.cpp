#include "gpu/inference/rank_report.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "gpu/core/require.h"

namespace warpscope::inference {
namespace {

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append(Samples& to, const Samples& from) {
  append(to.read, from.read);
  append(to.to_device, from.to_device);
  append(to.network, from.network);
  append(to.back, from.back);
  append(to.device, from.device);
  append(to.total, from.total);
  // A rank that answered nothing has none; on a GPU of another kind others may share a call.
  if (to.layers.size() != from.layers.size()) return;
  for (std::size_t i = 0; i < to.layers.size(); ++i) append(to.layers[i], from.layers[i]);
}

}  // namespace

void append(std::span<const Answer> answers, AnswerNumbers& numbers) {
  for (const Answer& answer : answers) {
    numbers.images.push_back(answer.image.index);
    numbers.finite.push_back(answer.finite ? 1 : 0);
    numbers.counts.push_back(static_cast<std::uint8_t>(answer.guesses.size()));
    for (const Guess& guess : answer.guesses) {
      numbers.labels.push_back(guess.label);
      numbers.values.push_back(guess.probability);
    }
    if (answer.guesses.empty()) numbers.values.push_back(answer.mse);
  }
}

void make_answers(const AnswerNumbers& numbers, const DividedSource& source, std::span<Answer> room) {
  const std::size_t count = numbers.images.size();
  std::size_t guesses = 0, values = 0;
  for (const std::uint8_t each : numbers.counts) {
    guesses += each;
    values += std::max<std::size_t>(each, 1);
  }
  const bool whole = numbers.finite.size() == count && numbers.counts.size() == count &&
                     numbers.labels.size() == guesses && numbers.values.size() == values;
  core::require(whole && count <= room.size(), "a rank tells of other numbers of answers and images");
  std::size_t label = 0, value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t index = numbers.images[i];
    core::require(index >= 0 && index < source.count(), "a rank tells of an image that there is not");
    Answer& answer = room[i];
    answer.image = source.name(index);
    answer.finite = numbers.finite[i] != 0;
    answer.guesses.reserve(numbers.counts[i]);
    for (std::size_t n = 0; n < numbers.counts[i]; ++n)
      answer.guesses.push_back({numbers.labels[label++], numbers.values[value++]});
    if (numbers.counts[i] > 0) continue;
    answer.mse = numbers.values[value++];
    answer.psnr = psnr_of(answer.mse);
  }
}

RankShare share_of(const Findings& findings, const std::string& device) {
  RankShare share{
      device, static_cast<std::int64_t>(findings.answered), findings.seconds, times_of(findings.samples), {}};
  for (const std::vector<double>& layer : findings.samples.layers)
    share.layers.push_back(latency_of(layer).median);
  return share;
}

RankReport report_of(const Findings& findings, const std::string& device) {
  return {share_of(findings, device), findings.aside,  findings.refused, findings.turned,
          findings.interrupted,       findings.samples};
}

void add(RankReport report, Findings& all) {
  all.answered += static_cast<std::size_t>(report.share.images);
  std::ranges::move(report.refused, std::back_inserter(all.refused));
  all.turned += report.turned;
  all.interrupted = all.interrupted || report.interrupted;
  append(all.samples, report.samples);
}

}  // namespace warpscope::inference
