#include "ui/panels/data_texts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/utf8.h"

namespace warpscope::ui {

bool trains_on_texts(const Frame& frame) {
  return frame.snapshot.data && frame.snapshot.data->test.texts;
}

std::string said_of_texts(std::string sentence) {
  static constexpr std::array<std::array<std::string_view, 2>, 4> kWords{
      {{"an image", "a text"}, {"An image", "A text"}, {"image", "text"}, {"Image", "Text"}}};
  for (const auto& [written, said] : kWords) {
    std::size_t at = sentence.find(written);
    while (at != std::string::npos) {
      const bool begins_word = at == 0 || std::isalpha(static_cast<unsigned char>(sentence[at - 1])) == 0;
      if (begins_word) sentence.replace(at, written.size(), said);
      at = sentence.find(written, at + (begins_word ? said : written).size());
    }
  }
  return sentence;
}

std::string said_of_data(const Frame& frame, std::string sentence) {
  return trains_on_texts(frame) ? said_of_texts(std::move(sentence)) : sentence;
}

std::string views_sentence(const training::Snapshot& snapshot) {
  if (snapshot.test_views <= 1) return {};
  return fmt::format(
      " Each image is judged by the mean of the logits of {} views of it, mirrored or shifted ones: not "
      "comparable with runs of another number of views.",
      snapshot.test_views);
}

std::string class_name(const training::DataView* data, std::size_t index) {
  const bool named = data != nullptr && index < data->classes.size() && !data->classes[index].empty();
  return named ? files::escaped(data->classes[index]) : std::to_string(index);
}

std::string shown_text(const training::DataView& data, training::DataPart part, std::int64_t number) {
  const auto image = data.image(part, number);
  if (!image) return "...";
  std::string shown = files::valid_utf8(image->text);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(shown.begin(), shown.end(), is_control, ' ');
  return shown.find_first_not_of(' ') == std::string::npos ? "(empty)" : shown;
}

}  // namespace warpscope::ui
