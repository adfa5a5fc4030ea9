#include "gpu/files/streams.h"

#include <cstdio>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace warpscope::files::streams_test {
namespace {

/// What a process of its own wrote to standard output and error when it had done `work`.
std::string told(void (*work)()) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    work();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char piece[4096];
  for (::ssize_t got; (got = ::read(ends[0], piece, sizeof(piece))) > 0;) text.append(piece, got);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  return text;
}

TEST(Streams, NamesInSentencesAreEscapedAndTheProgramsOwnTextIsNot) {
  EXPECT_EQ(told([] { print("\r\x1b[2K{} of {:>4}\n", std::string("a\x1b[31m\nb"), 7); }),
            "\r\x1b[2Ka\\x1b[31m\\nb of    7\n");
  EXPECT_EQ(told([] { warn("caf\xe9 is\ndamaged: \x03"); }), "warpscope: caf\\xe9 is\\ndamaged: \\x03\n");
}

TEST(Streams, FilesGoToStandardOutputAsTheyAreWhereItIsNoTerminal) {
  EXPECT_EQ(told([] { put_file("a,\x1b[31m\xff\r\n"); }), "a,\x1b[31m\xff\r\n");
}

TEST(Streams, NoFileGetsTheDescriptorOfAStreamThatIsClosed) {
  EXPECT_EQ(told([] {
              const int kept = ::dup(STDOUT_FILENO);
              for (const int descriptor : {0, 1, 2}) ::close(descriptor);
              hold_streams();
              const int next = ::open("/dev/null", O_RDONLY);
              ::dprintf(kept, "%d", next > 2 ? 1 : 0);
              put("lost");
              ::dprintf(kept, ", %s", output_failure().c_str());
              answer_is_in_files();
              ::dprintf(kept, ", %s", output_failure().c_str());
            }),
            "1, cannot write to standard output: it is closed, ");
}

TEST(Streams, WhatCannotBeWrittenEndsNothingAndIsRemembered) {
  EXPECT_EQ(told([] {
              const int kept = ::dup(STDOUT_FILENO);
              hold_streams();
              int ends[2];
              static_cast<void>(::pipe(ends));
              ::dup2(ends[1], STDOUT_FILENO);
              ::dup2(ends[1], STDERR_FILENO);
              ::close(ends[0]);
              put_aside("nobody reads");
              ::dprintf(kept, "[%s] ", output_failure().c_str());
              put("nobody reads");
              const int full = ::open("/dev/full", O_WRONLY);
              ::dup2(full, STDOUT_FILENO);
              put("no room");
              ::dprintf(kept, "%s", output_failure().c_str());
            }),
            "[] cannot write to standard output: Broken pipe");
}

TEST(Streams, AFileThatGrowsOverItsLimitIsAnErrorAndNoSignal) {
  EXPECT_EQ(told([] {
              hold_streams();
              const rlimit none{0, 0};
              ::setrlimit(RLIMIT_FSIZE, &none);
              const int file = ::memfd_create("file", 0);
              put(::write(file, "x", 1) < 0 ? "an error" : "written");
            }),
            "an error");
}

}  // namespace
}  // namespace warpscope::files::streams_test
