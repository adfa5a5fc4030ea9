#include "gpu/messages/bytes.h"

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training {
namespace {

/// Its end is the number of the form in which heads and members are written.
constexpr std::string_view kMagic("WSmsg\1\0\0", 8);

}  // namespace

void refuse_message(std::string_view why) {
  throw core::BadInput(fmt::format("a message from the other process is damaged: {}", why));
}

void MessageReader::refuse_version() {
  throw core::BadInput(
      "the other process is another version of warpscope, whose messages this one cannot read");
}

std::string MessageHead::text() const {
  std::string text(kMagic);
  for (const std::uint64_t each : {shape, length, checksum})
    text.append(reinterpret_cast<const char*>(&each), sizeof each);
  return text;
}

MessageHead MessageHead::read(std::string_view bytes) {
  if (bytes.size() < kBytes) refuse_message("it ends within its head");
  if (bytes.substr(0, kMagic.size()) != kMagic) refuse_message("it does not begin as one");
  MessageHead head;
  std::memcpy(&head, bytes.data() + kMagic.size(), kBytes - kMagic.size());
  if (head.length > kMost) refuse_message("it is longer than any is");
  return head;
}

}  // namespace warpscope::training
