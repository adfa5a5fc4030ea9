"""Wrong kernels of a table (tests/support/kernel_faults.py) on the CPU: each is told what it does, and where."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import kernel_faults  # noqa: E402
from warpscope_program import ProgramCase, main  # noqa: E402

OPS = ("linear.backward_weights", "maxpool2d.forward", "conv2d.forward+bias.forward+relu.forward")
FAULTS = 8


class WrongKernels(ProgramCase):
    def setUp(self):
        super().setUp()
        self.texts = {}
        for number, op in enumerate(OPS):
            self.assert_succeeded(self.run_program("kernel", "new", op, f"right_{number}.cpp"))
            with open(self.path(f"right_{number}.cpp"), encoding="utf-8") as file:
                self.texts[op] = file.read()

    def test_each_is_told_in_the_right_sentence(self):
        made = kernel_faults.made(2 * FAULTS, 1, ".cpp", self.texts)
        for op, fault in [(op, fault) for op, fault in made if not fault.hangs][:FAULTS]:
            with open(self.path(f"{fault.name}.cpp"), "w", encoding="utf-8") as file:
                file.write(fault.text)
            ended = self.run_program("kernel", "check", f"{fault.name}.cpp", "--no-time")
            self.assertEqual(ended.code, 1, fault.text)
            self.assertTrue(kernel_faults.fits(fault, op, ended.err.strip()),
                            f"{ended.err}wanted: {fault.sentence}\nof {fault.text}")

    def test_the_same_seed_gives_the_same_ones_and_more_begin_with_fewer(self):
        for language in (".cpp", ".cu"):
            many = kernel_faults.made(200, 7, language, GPU_LIKE if language == ".cu" else self.texts)
            few = kernel_faults.made(30, 7, language, GPU_LIKE if language == ".cu" else self.texts)
            self.assertEqual(few, many[:30])
            kinds = {fault.name.split("_", 2)[2] for _, fault in many}
            self.assertEqual(kinds, {kind.name for kind in kernel_faults.KINDS if language in kind.languages})


GPU_LIKE = {"relu.forward": """//   call.input(n, h, w, c)             float         read      batch
//   call.output(n, h, w, c)            float         written   batch
#include <warpscope/relu.forward.h>

constexpr int kThreads = 256;
WARPSCOPE_LAUNCH(call, kThreads, (call.output.size() + kThreads - 1) / kThreads)

WARPSCOPE_KERNEL(call) {
  Index element = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (element >= call.output.size()) return;
  call.output[element] = call.input[element] < 0 ? 0 : call.input[element];
}
"""}

main()
