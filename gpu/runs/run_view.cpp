#include "gpu/runs/run_view.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/data/text_encoding.h"
#include "gpu/files/file.h"
#include "gpu/files/read_json.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/head_snapshot.h"
#include "gpu/runs/snapshot_json.h"
#include "gpu/runs/step_speeds.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;
using training::TrainerState;

constexpr std::size_t kMostStatusBytes = 64 << 20;
constexpr auto kQuietForLock = std::chrono::seconds(3);  ///< a running training writes every second
constexpr auto kLockInterval = std::chrono::seconds(2);
/// Where locks of other machines are not seen: more than the longest time between two heartbeats.
constexpr auto kQuietForDeath = std::chrono::seconds(12);

bool ended(TrainerState state) {
  return state == TrainerState::finished || state == TrainerState::failed;
}

std::string described(TrainerState state) {
  switch (state) {
    case TrainerState::finished:
      return "finished";
    case TrainerState::failed:
      return "failed";
    case TrainerState::interrupted:
      return "interrupted: its process ended without finishing it";
    case TrainerState::preparing:
      return "being prepared by another process";
    case TrainerState::paused:
      return "paused in another process";
    case TrainerState::running:
      break;
  }
  return "running in another process";
}

/// The newest value of each metric that is there; those of `values` else.
void take_newest(const PointTable& table, training::Split split, training::MetricValues& values) {
  for (const training::MetricRow& row : training::metrics()) {
    const Series* const series = table.find(row.series(split));
    if (series == nullptr) continue;
    const auto found = std::find_if(series->values.rbegin(), series->values.rend(),
                                    [](double value) { return !std::isnan(value); });
    if (found != series->values.rend()) values[row.metric] = static_cast<float>(*found);
  }
}

/// As the training that wrote them would tell it.
double speed_of_last_second(const PointTable& steps) {
  const Series* const series = steps.find("images_per_second");
  if (series == nullptr || steps.size() == 0) return 0;
  std::size_t first = steps.size() - 1;
  while (first > 0 && steps.seconds[first - 1] > steps.seconds.back() - 1) --first;
  training::StepSpeeds speeds;
  for (std::size_t i = first; i < steps.size(); ++i) speeds.add(steps.seconds[i], series->values[i]);
  return speeds.median().value_or(0);
}

/// For a network that takes texts: what the kept bytes stand for, as far as they tell.
void add_texts(const json& head, data::ImageSet& set) {
  try {
    const std::string alphabet = model_in(head).alphabet;
    if (alphabet.empty()) return;
    const data::Alphabet characters(alphabet);
    const auto bytes = static_cast<std::size_t>(set.image_bytes());
    for (std::size_t i = 0; i < static_cast<std::size_t>(set.count); ++i)
      set.texts.push_back(characters.decode(std::span(set.pixels).subspan(i * bytes, bytes)));
  } catch (const core::BadInput&) {  // a model that this version does not know
  }
}

}  // namespace

bool Liveness::alive(const std::filesystem::path& folder, bool changed, Clock::time_point now) {
  const auto ask = [&] {
    asked_ = true;
    last_asked_ = now;
    const bool held = is_being_written(folder);
    locks_seen_ = locks_seen_ || held;
    return held;
  };
  if (!asked_) {
    last_change_ = now;
    return alive_ = ask();
  }
  if (changed) {
    last_change_ = now;
    if (!alive_) ask();  // where its lock is seen, its end is noticed sooner
    return alive_ = true;
  }
  if (!alive_ || now - last_change_ < kQuietForLock || now - last_asked_ < kLockInterval) return alive_;
  if (!ask() && (locks_seen_ || now - last_change_ > kQuietForDeath)) alive_ = false;
  return alive_;
}

RunView::RunView(std::filesystem::path folder, Reads reads)
    : folder_(std::move(folder)), reads_(reads), name_(files::escaped(folder_.string())), views_(folder_) {
  snapshot_.run_dir = name_;
  forbid("being read");
}

/// A run is only looked at; `what` it is.
void RunView::forbid(std::string what) {
  snapshot_.can = {
      .steer = false, .save = false, .look_inside = false, .files = true, .why_not = std::move(what)};
}

std::vector<training::FeedItem> RunView::take_items() {
  return std::exchange(items_, {});
}

void RunView::notice(const std::string& text) {
  notice_ = files::sayable(text);
  ++notices_;
  snapshot_.notice = notice_;
  snapshot_.notice_id = notices_;
}

bool RunView::look(const Run& run, const RunUpdate& update, Liveness::Clock::time_point now) {
  const std::vector<training::FeedItem> points = points_.take(run.points, update.restarted);
  items_.insert(items_.end(), points.begin(), points.end());
  for (; notes_ < run.notes.size(); ++notes_) {
    items_.emplace_back(training::LogLine{training::LogLevel::warning, files::sayable(run.notes[notes_])});
    notice(run.notes[notes_]);
  }
  notes_ = std::min(notes_, run.notes.size());
  if (reads_ == Reads::curves) return look_at_curves(run);
  // Before the status: it is written after the status.
  const bool predictions_changed = read_predictions();
  const bool status_changed = read_status();
  const bool images_changed = read_images();
  const bool changed = status_changed || update.head_changed || update.restarted || !points.empty();
  const bool was_alive = alive_;
  alive_ = liveness_.alive(folder_, changed, now);
  if (update.restarted) {
    tally_ = training::FigureTally(run.points);
  } else {
    for (const training::FeedItem& item : points) tally_.note(item);
  }
  const bool same = !changed && !predictions_changed && alive_ == was_alive && described_;
  if (!same) describe(run);
  described_ = true;
  read_views();
  return !same || images_changed || !items_.empty();
}

/// Long runs, and many of them: the points are not kept, and nothing else is read.
bool RunView::look_at_curves(const Run& run) {
  points_.keep_last();
  if (run.points.steps.size() > 0) snapshot_.step = run.points.steps.step.back();
  snapshot_.generation = run.points.resets;
  snapshot_.state = state_of(run.head);
  return !std::exchange(described_, true) || !items_.empty();
}

/// True if it holds another snapshot than before.
bool RunView::read_status() {
  auto text = files::read_small_file(folder_ / "status.json", kMostStatusBytes);
  if (!text || *text == status_text_) return false;
  try {
    const json object = files::read_json(*text);
    if (object.is_discarded()) throw core::BadInput("it is not JSON");
    training::Snapshot read;
    from_json(object, read);
    status_ = std::move(read);
  } catch (const std::exception& error) {
    // Over a network a file may be seen half written: it is damaged only if it stays as it is.
    if (std::exchange(bad_status_text_, *text) == *text) {
      complain(status_objection_, fmt::format("{}/status.json is damaged: {}; what it said before is shown",
                                              name_, core::sentence_of(error)));
    }
    return false;
  }
  status_text_ = std::move(*text);
  return true;
}

/// True if there are newer pictures.
bool RunView::read_images() {
  const auto text = files::read_small_file(folder_ / "images" / "index.json", kMostStatusBytes);
  if (!text || *text == index_text_) return false;
  try {
    const json object = files::read_json(*text);
    if (object.is_discarded()) throw core::BadInput("images/index.json is not JSON");
    const auto index = object.get<training::ImageIndex>();
    if (index.pictures.empty()) return false;
    show(training::read_shown_images(folder_, index, index.pictures.size() - 1));
    add_to_history(index);
  } catch (const std::exception& error) {
    // A picture may go between the two readings; then the index is another the next time.
    if (std::exchange(bad_index_text_, *text) == *text) {
      complain(images_objection_,
               fmt::format("the newest images of {} cannot be shown: {}", name_, core::sentence_of(error)));
    }
    return false;
  }
  index_text_ = *text;
  return true;
}

/// True if there are newer predictions.
bool RunView::read_predictions() {
  const auto text = files::read_small_file(folder_ / "images" / "predictions.json", kMostStatusBytes);
  if (!text || *text == predictions_text_) return false;
  try {
    predictions_ = std::make_shared<training::Predictions>(training::read_predictions(folder_));
  } catch (const std::exception& error) {
    // The picture may be replaced between the two readings; then the index is another the next time.
    if (std::exchange(bad_predictions_text_, *text) == *text) {
      complain(predictions_objection_, fmt::format("the newest predictions of {} cannot be shown: {}", name_,
                                                   core::sentence_of(error)));
    }
    return false;
  }
  predictions_text_ = *text;
  return true;
}

/// That of the network and the generation that the snapshot tells of.
void RunView::read_views() {
  if (!network_) return;
  for (training::KeptView& view : views_.take(snapshot_.generation, network_number_))
    items_.emplace_back(std::move(view));
  if (const std::string objection = views_.objection(!alive_); !objection.empty())
    complain(views_objection_, objection);
}

void RunView::complain(std::string& last, const std::string& text) {
  const std::string shown = files::sayable(text);
  if (std::exchange(last, shown) == shown) return;
  items_.emplace_back(training::LogLine{training::LogLevel::warning, shown});
  notice(shown);
}

/// What the history lacks; of a training that went back it gets all anew.
void RunView::add_to_history(const training::ImageIndex& index) {
  if (!image_history_) image_history_ = std::make_shared<training::ImageHistory>();
  const std::vector<std::uint64_t> known = image_history_->steps();
  std::size_t next = 0;
  if (!known.empty() && index.generation == history_generation_) {
    const auto last = std::find_if(index.pictures.begin(), index.pictures.end(),
                                   [&](const auto& picture) { return picture.step == known.back(); });
    if (last != index.pictures.end()) next = static_cast<std::size_t>(last - index.pictures.begin()) + 1;
  }
  history_generation_ = index.generation;
  for (; next < index.pictures.size(); ++next) {
    try {
      training::ShownImages images = training::read_shown_images(folder_, index, next);
      images.generation = index.generation;
      image_history_->add(images);
    } catch (const core::Error& error) {
      complain(images_objection_, fmt::format("the images of {} after step {} cannot be shown: {}", name_,
                                              files::grouped(index.pictures[next].step), error.what()));
    }
  }
}

void RunView::show(const training::ShownImages& images) {
  const training::ImageShape& shape = images.shape;
  const auto same = [&](const training::ImageShape& other) {
    return other.count == shape.count && other.height == shape.height && other.width == shape.width &&
           other.channels == shape.channels;
  };
  if (!exchange_ || !same(exchange_->shape())) {
    const auto device = core::open_device("cpu");
    exchange_ = std::make_shared<training::ImageExchange>(device, shape);
    stream_ = device->make_stream();
  }
  training::ImageSlot& slot = exchange_->begin_write(*stream_);
  std::memcpy(slot.original.data(), images.original.data(), slot.original.bytes());
  std::memcpy(slot.reconstruction.data(), images.reconstruction.data(), slot.reconstruction.bytes());
  std::memcpy(slot.errors.data(), images.errors.data(), slot.errors.bytes());
  slot.step = images.step;
  exchange_->publish(*stream_);
}

/// The snapshot of now.
void RunView::describe(const Run& run) {
  const TrainerState before = snapshot_.state;
  snapshot_ = status_ ? *status_ : snapshot_of(run.head);
  snapshot_.run_dir = name_;
  snapshot_.generation = run.points.resets;
  describe_network(run.head);
  describe_by_points(run.points);
  describe_predictions(run.head);
  if (status_ && status_->notice_id != run_notice_id_) {
    run_notice_id_ = status_->notice_id;
    if (described_) notice(status_->notice);  // what was told before somebody looks is no news
  }
  set_state(run);
  snapshot_.notice = notice_;
  snapshot_.notice_id = notices_;
  if (snapshot_.state == before && described_) return;
  items_.emplace_back(training::LogLine{
      snapshot_.state == TrainerState::failed ? training::LogLevel::error : training::LogLevel::info,
      fmt::format("{} is {}", name_, snapshot_.can.why_not)});
}

/// What is trained now, as run.json tells; nothing of one that this version does not know.
void RunView::describe_network(const json& head) {
  std::string text = network_text(head);
  if (text != network_text_) {
    if (!network_text_.empty()) ++networks_;
    network_text_ = std::move(text);
    try {
      network_ = std::make_shared<const models::Model>(model_in(head));
      network_number_ = training::number_of(*network_);
    } catch (const core::BadInput&) {
      network_ = nullptr;
    }
  }
  snapshot_.network = network_;
  snapshot_.network_number = networks_;
}

/// What the points know better than the status: they are newer, and belong to the curves.
void RunView::describe_by_points(const RunPoints& points) {
  const PointTable& steps = points.steps;
  training::Snapshot& now = snapshot_;
  if (steps.size() == 0) return;
  now.step = steps.step.back();
  now.epoch = std::isnan(steps.epoch.back()) ? now.epoch : steps.epoch.back();
  now.seconds = std::isnan(steps.seconds.back()) ? now.seconds : steps.seconds.back();
  now.last = MetricColumns(steps, training::Split::train).at(steps.size() - 1).values;
  if (!status_) now.images_per_second = speed_of_last_second(steps);
  now.figures = tally_.figures();
  const bool validated = points.tests.find("validation_loss") != nullptr;
  take_newest(points.tests, validated ? training::Split::validation : training::Split::test, now.last_test);
}

/// Predictions come with the evaluation they belong to. Those that lie ahead of the status are of steps that
/// a resume has cut off.
void RunView::describe_predictions(const json& head) {
  training::Snapshot& now = snapshot_;
  if (!named_data_) named_data_ = training::view_of(named_data(head, now.data_name));
  now.data = named_data_;
  if (!predictions_ || predictions_->generation != now.generation || !now.classifies) return;
  const std::uint64_t step = predictions_->evaluation.step;
  if (status_ && (!status_->evaluation || status_->evaluation->step < step)) return;
  if (shown_ != predictions_) {
    shown_ = predictions_;
    shown_evaluation_ = std::shared_ptr<const training::Evaluation>(shown_, &shown_->evaluation);
    auto data = std::make_shared<data::DataSet>();
    if (named_data_) *data = *named_data_->whole;
    data->classes.resize(static_cast<std::size_t>(shown_->evaluation.classes));
    const bool validation = shown_->evaluation.split == training::Split::validation;
    data::ImageSet& set = validation ? data->validation : data->test;
    set = shown_->images;
    add_texts(head, set);
    shown_data_ = training::view_of(std::move(data));
  }
  now.evaluation = shown_evaluation_;
  now.data = shown_data_;
}

void RunView::set_state(const Run& run) {
  const TrainerState by_head = state_of(run.head);
  // A run that is finished can be reset and go on, in the window of its process.
  const bool goes_on = alive_ && status_ && !ended(status_->state);
  if (ended(by_head) && !goes_on) {
    snapshot_.state = by_head;
  } else if (!alive_) {
    snapshot_.state = TrainerState::interrupted;
  } else {
    snapshot_.state = status_ ? status_->state : TrainerState::running;
  }
  forbid(described(snapshot_.state));
  if (snapshot_.state != TrainerState::failed || error_told_) return;
  error_told_ = true;
  const std::string error = error_of(run.head);
  if (!error.empty() && error != notice_) notice(error);
}

}  // namespace warpscope::runs
