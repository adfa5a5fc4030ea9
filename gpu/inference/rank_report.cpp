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
  append(to.total, from.total);
  // A rank that answered nothing has none; on a GPU of another kind others may share a call.
  if (to.layers.size() != from.layers.size()) return;
  for (std::size_t i = 0; i < to.layers.size(); ++i) append(to.layers[i], from.layers[i]);
}

}  // namespace

RankShare share_of(const Findings& findings, const std::string& device) {
  return {device, static_cast<std::int64_t>(findings.answers.size()), findings.seconds,
          device_seconds_of(findings.samples)};
}

RankReport report_of(const Findings& findings, const std::string& device) {
  RankReport report;
  report.share = share_of(findings, device);
  std::size_t guesses = 0;
  for (const Answer& answer : findings.answers) guesses = std::max(guesses, answer.guesses.size());
  const std::size_t columns = std::max(guesses, std::size_t{1});
  report.images.reserve(findings.answers.size());
  report.finite.reserve(findings.answers.size());
  report.labels.reserve(findings.answers.size() * guesses);
  report.values.reserve(findings.answers.size() * columns);
  for (const Answer& answer : findings.answers) {
    report.images.push_back(answer.image.index);
    report.finite.push_back(answer.finite ? 1 : 0);
    for (std::size_t i = 0; i < guesses; ++i) {
      const Guess guess = answer.finite ? answer.guesses[i] : Guess{};
      report.labels.push_back(guess.label);
      report.values.push_back(guess.probability);
    }
    if (guesses == 0) report.values.push_back(answer.mse);
  }
  report.refused = findings.refused;
  report.turned = findings.turned;
  report.interrupted = findings.interrupted;
  report.samples = findings.samples;
  return report;
}

void add(RankReport report, const DividedSource& source, Findings& all) {
  const std::size_t count = report.images.size();
  const std::size_t guesses = count > 0 ? report.labels.size() / count : 0;
  const std::size_t columns = std::max(guesses, std::size_t{1});
  const bool whole = report.finite.size() == count && report.labels.size() == count * guesses &&
                     report.values.size() == count * columns;
  core::require(whole, "a rank tells of other numbers of answers and images");
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t index = report.images[i];
    core::require(index >= 0 && index < source.count(), "a rank tells of an image that there is not");
    Answer& answer = all.answers.emplace_back();
    answer.image = source.name(index);
    answer.finite = report.finite[i] != 0;
    for (std::size_t n = 0; n < guesses && answer.finite; ++n)
      answer.guesses.push_back({report.labels[i * guesses + n], report.values[i * columns + n]});
    if (guesses > 0) continue;
    answer.mse = report.values[i];
    answer.psnr = psnr_of(answer.mse);
  }
  std::ranges::move(report.refused, std::back_inserter(all.refused));
  all.turned += report.turned;
  all.interrupted = all.interrupted || report.interrupted;
  append(all.samples, report.samples);
}

}  // namespace warpscope::inference
