"""Wrong kernels by a table: kinds x operations x places x numbers, the same ones for the same seed.

Each is the kernel that its operation begins with (`warpscope kernel new`), which is right, with one statement put in.
`made(count, seed, language, texts)` gives Fault(name, text, sentence, hangs): `sentence` is a regular expression for
what is told behind the name of the kernel, or, where it does not compile, for all of it."""
import collections
import random
import re

# `code`: the statement. In it, and in `sentence`: {r}, {w}: an operand that is read, the first that is written; {n}: a
# number from 1 on; `picked`: an element of {w}; {line}: where the statement stands. `where`: "first" or "last" in the
# kernel. `who`: "one" (on a GPU the thread of the picked element, on a CPU all calls), "some" (that, or on a GPU all
# threads, on a CPU the calls from the second, third or fourth on), "all". `edit`: instead, what is replaced by what.
Kind = collections.namedtuple("Kind", "name languages code sentence where who edit hangs",
                              defaults=(("first", "last"), "some", None, False))
Fault = collections.namedtuple("Fault", "name text sentence hangs")

BOTH, CPU, GPU = (".cpp", ".cu"), (".cpp",), (".cu",)
AFTER = r"(, (after|last at) line \d+)?"
LATER = r"(is right at first, but where other numbers lie in the same memory( it|:) )?"
WRONG = r"(" + LATER + r"gives (?!NaN)\S+ for \w+\([\d, ]+\), where \S+ is right: .*|gave other bits the second time)"
NOT_ITS_OWN = r"touches memory that is not its own" + AFTER
MISALIGNED = r"touches memory at an address that is no multiple of what it reads or writes there"
# Of all files, behind `#include`: what no compiler can know to be 0 for good.
NEVER = {".cpp": "static volatile int never = 0;\n", ".cu": "static __device__ volatile int never = 0;\n"}

KINDS = [
    Kind("reads_past", BOTH, "call.{w}.data()[picked] = call.{r}[call.{r}.size() + {n}];",
         r"leaves the operand '{r}' at line {line}: its element is \d+ there, and may be 0 to \d+"),
    Kind("reads_before", BOTH, "call.{w}.data()[picked] = call.{r}[-{n}];",
         r"leaves the operand '{r}' at line {line}: its element is -{n} there, and may be 0 to \d+"),
    Kind("writes_past", BOTH, "call.{w}[call.{w}.size() + {n}] = 1;",
         r"leaves the operand '{w}' at line {line}: its element is \d+ there, and may be 0 to \d+"),
    Kind("writes_before", BOTH, "call.{w}[-{n}] = 1;",
         r"leaves the operand '{w}' at line {line}: its element is -{n} there, and may be 0 to \d+"),
    Kind("reads_far", BOTH, "call.{w}.data()[picked] = call.{r}.data()[(Index{{1}} << 36) + {n}];", NOT_ITS_OWN),
    Kind("writes_far", BOTH, "call.{w}.data()[(Index{{1}} << 36) + {n}] = 1;", NOT_ITS_OWN),
    Kind("reads_nowhere", BOTH, "call.{w}.data()[picked] = *reinterpret_cast<const volatile float*>(16 * {n}LL);",
         NOT_ITS_OWN),
    Kind("writes_nowhere", BOTH, "*reinterpret_cast<volatile float*>(16 * {n}LL) = 1;", NOT_ITS_OWN),
    Kind("writes_past_unseen", BOTH, "call.{w}.data()[call.{w}.size() + {n} % 8] = 1;",
         LATER + r"wrote past the end of the operand '{w}'"),
    Kind("writes_before_unseen", BOTH, "call.{w}.data()[-1 - {n} % 8] = 1;",
         LATER + r"wrote before the operand '{w}'"),
    Kind("changes_inputs", BOTH, "++*reinterpret_cast<volatile unsigned char*>(const_cast<float*>(call.{r}.data()));",
         LATER + r"changed the operand '{r}', which it may only read", who="one"),
    Kind("hangs", BOTH, "while (never == 0) {{}}", r"does not end within 2 s" + AFTER, hangs=True),
    Kind("hangs_writing", CPU, "while (never == 0) call.{w}[picked] = 1;",
         r"does not end within 2 s, last at line {line}", hangs=True),
    Kind("hangs_writing", GPU, "while (never == 0) call.{w}[picked] = 1;",
         r"does not end within 1 s, last at line {line}", hangs=True),
    Kind("traps", CPU, "__builtin_trap();",
         r"runs into an instruction that this processor does not have, or a trap" + AFTER),
    Kind("traps", GPU, "__trap();", r"runs into .*a trap.*"),
    Kind("divides", CPU, "call.{w}.data()[picked] = static_cast<float>({n} / never);",
         r"divides a whole number by zero" + AFTER),
    Kind("aborts", CPU, "__builtin_abort();", r"calls abort\(\), or an exception left one of its threads" + AFTER),
    Kind("exits", CPU, "__builtin_exit({n} % 100);", r"ends its process, with exit code \d+" + AFTER),
    Kind("throws", CPU, "throw {n};", r"threw an exception"),
    Kind("misaligned", GPU, "call.{w}.data()[picked] = *reinterpret_cast<const volatile float*>("
         "reinterpret_cast<const char*>(call.{r}.data()) + 1 + {n} % 3);", MISALIGNED),
    Kind("misaligned_vector", GPU, "const float4 four = *reinterpret_cast<const float4*>("
         "call.{r}.data() + 1 + {n} % 3); call.{w}.data()[picked] = four.x + four.y + four.z + four.w;", MISALIGNED),
    Kind("races", GPU, "call.{w}.data()[0] = static_cast<float>(threadIdx.x + {n});", WRONG, ("last",), "all"),
    Kind("races_in_shared_memory", GPU, "__shared__ volatile unsigned one; one = threadIdx.x; "
         "if (one != threadIdx.x) call.{w}.data()[Index{{blockIdx.x}} * kThreads + threadIdx.x] += 1000;", WRONG,
         ("last",), "all"),
    # Within the window of shared memory (16 MiB), or the address is that of another block of the cluster.
    Kind("leaves_shared_memory", GPU, "__shared__ float tile[64]; volatile float* far = tile; "
         "far[(1 << 18) + {n}] = 1; call.{w}.data()[picked] = far[(1 << 18) + {n}];",
         r"(touches memory that is not its own|runs into a trap, or touches shared memory that is not its own|"
         r"touches memory of another kind than its instruction is for)"),
    Kind("is_wrong", BOTH, "call.{w}.data()[picked] += 1000 + {n};", WRONG, ("last",), "one"),
    Kind("gives_nan", BOTH, "call.{w}.data()[picked] = (0.0f * never) / (0.0f * never);",
         LATER + r"gives NaN for {w}\([\d, ]+\), where .*", ("last",), "one"),
    Kind("leaves_some", GPU, "return;", LATER + r"does not write \w+\([\d, ]+\)", ("first",), "one"),
    Kind("too_much_shared_memory", GPU, "__shared__ volatile float big[(1 << 16) + {n}]; big[threadIdx.x] = 1; "
         "call.{w}.data()[picked] = big[threadIdx.x];",
         r"{name}.cu does not compile: a block uses \d+ bytes of shared memory, and may use \d+"),
    Kind("no_launch", GPU, "", r"{name}.cu, line \d+ does not compile: WARPSCOPE_LAUNCH\(call, THREADS, BLOCKS\) has "
         r"to stand before WARPSCOPE_KERNEL", edit=(r"\nWARPSCOPE_LAUNCH.*", "")),
    Kind("no_blocks", GPU, "", r"gives no threads or no blocks in its WARPSCOPE_LAUNCH",
         edit=(r"\nWARPSCOPE_LAUNCH.*", r"\nWARPSCOPE_LAUNCH(call, kThreads, call.batch - call.batch)")),
    Kind("too_many_blocks", GPU, "", r"asks for a launch that GPUs cannot make: \d+x1x1 blocks of 256x1x1 threads",
         edit=(r"\nWARPSCOPE_LAUNCH.*", r"\nWARPSCOPE_LAUNCH(call, kThreads, -{n})")),
    Kind("too_many_threads", GPU, "", r"{name}.cu, line \d+ does not compile: .*a block has 1 to 1,024 threads.*",
         edit=(r"kThreads = 256", r"kThreads = 1024 + {n}")),
    Kind("no_kernel", GPU, "", r"{name}.cu does not compile: the file has no WARPSCOPE_KERNEL\(call\) \{{ ... \}}",
         edit=(r"\nWARPSCOPE_KERNEL[\s\S]*", "\n")),
    Kind("no_kernel", CPU, "", r"cannot be run: the file has no WARPSCOPE_KERNEL\(call\) \{{ ... \}}",
         edit=(r"\nWARPSCOPE_KERNEL[\s\S]*", "\n")),
    Kind("typo", BOTH, "undeclared_{n} = 1;", r"{name}\.\w+, line {line} does not compile: .*undeclared_{n}\b.*"),
]


def spilling(numbers):
    """relu.forward, right, with more values than a thread has registers: what is told is the local memory."""
    return f"""#include <warpscope/relu.forward.h>
WARPSCOPE_LAUNCH(call, 1024, (call.output.size() + 1023) / 1024)
WARPSCOPE_KERNEL(call) {{
  const Index e = Index{{blockIdx.x}} * 1024 + threadIdx.x;
  if (e >= call.output.size()) return;
  float v[{numbers}];
#pragma unroll
  for (int i = 0; i < {numbers}; ++i) v[i] = call.input[(e + i) % call.input.size()];
  float sum = 0, zero = 0;
#pragma unroll
  for (int i = 0; i < {numbers}; ++i) sum += v[i];
#pragma unroll
  for (int i = 0; i < {numbers}; ++i) zero += 0 * fmaxf(v[i], sum);
  const float x = call.input[e] + zero;
  call.output[e] = x < 0 ? 0 : x;
}}
"""


def operands_in(text):
    """The operands of floats that are read, and the first that is written."""
    found = re.findall(r"^//   call\.(\w+)\(.*\) +(float|unsigned char) +(read|written) ", text, re.MULTILINE)
    return ([name for name, of, how in found if how == "read" and of == "float"],
            next(name for name, of, how in found if how == "written"))


def condition(kind, language, number, dice):
    """What has to be true where the fault happens, as lines that define it."""
    everywhere = kind.who == "all" or (kind.who == "some" and dice.random() < 0.5)
    if language == ".cu":
        is_me = "true" if everywhere else "Index{blockIdx.x} * kThreads + threadIdx.x == picked"
    else:
        is_me = "true" if everywhere or kind.who == "one" else f"++so_far > {1 + number % 3}"
    before = "  static int so_far = 0;\n" if "so_far" in is_me else ""
    return before + f"  [[maybe_unused]] const bool is_me = {is_me};\n"


def put_in(text, place, added):
    """The text with `added` in its kernel, and the line in which `added` ends."""
    if place == "last":
        at = text.rindex("}")
    else:
        at = re.search(r"WARPSCOPE_KERNEL\(call\) \{\n(  Index element.*\n  if \(element.*\n)?", text).end()
    return text[:at] + added + text[at:], text[:at].count("\n") + added.count("\n")


def fault_of(kind, name, text, language, dice):
    reads, written = operands_in(text)
    number = dice.randrange(1, 1000)
    words = {"r": dice.choice(reads), "w": written, "n": number, "name": name, "line": 0}
    if kind.edit:
        pattern, replacement = kind.edit
        text, edits = re.subn(pattern, replacement.replace("{n}", str(number)), text, count=1)
        assert edits == 1, (kind.name, text)
    else:
        text = re.sub(r"(#include <warpscope/.*\n)", lambda found: found[1] + NEVER[language], text, count=1)
        element = f"  [[maybe_unused]] const Index picked = Index{{{number}}} % call.{written}.size();\n"
        guard = condition(kind, language, number, dice)
        code = kind.code.format(**words)
        text, words["line"] = put_in(text, dice.choice(kind.where), f"{element}{guard}  if (is_me) {{ {code} }}\n")
    sentence = kind.sentence.format(**words)
    if "does not compile" in sentence:
        sentence += r"( \(and \d+ more errors?\))?"
    elif "cannot be run" not in sentence:
        sentence += r",? on [^,].*"
    return Fault(name, text, sentence, kind.hangs)


def made(count, seed, language, texts):
    """`count` faults in the kernels `texts` (operation: file that is right), each kind as often as the others. Those
    of a larger count begin with those of a smaller one."""
    dice = random.Random(f"{seed}{language}")
    kinds = [kind for kind in KINDS if language in kind.languages]
    faults = []
    while len(faults) < count:
        dice.shuffle(kinds)
        for kind in kinds:
            op = dice.choice(sorted(texts))
            faults.append((op, fault_of(kind, f"fault_{len(faults):03}_{kind.name}", texts[op], language, dice)))
    return faults[:count]


def fits(fault, op, error):
    """Whether what the program said on its standard error is the right sentence."""
    sentence = error.removeprefix("warpscope: ").removeprefix(f"{op.split('+')[0]} user:{fault.name} ")
    return "\n" not in error and re.fullmatch(fault.sentence + r"( \(the fast build; .*\))?", sentence) is not None
