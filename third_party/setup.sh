# shellcheck shell=bash disable=SC2034,SC2154
# What ./run, ./test and .ci/run share: the Debian packages, the CUDA compiler, configuring, and a quiet build.
# Sourced with `root` set to the source tree. Everything it says goes to stderr, so that a program's output stays its
# own.

# "a|b" means that either will do. The names are those of Debian 12 and of Ubuntu 24.04.
run_packages=(
  build-essential cmake ninja-build ccache 'pkg-config|pkgconf'
  libimgui-dev libglfw3-dev 'python3-glad|glad' libstb-dev libgl-dev libx11-dev libxext-dev
  libgl1-mesa-dri libglx-mesa0 libxrandr2 libxinerama1 libxcursor1 libxi6 # loaded at run time
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libfmt-dev
  libcurl4-openssl-dev ca-certificates libarchive-dev libssl-dev zlib1g-dev libwebp-dev libxxhash-dev libasio-dev
  'libdnnl-dev|libonednn-dev' libsvm-dev liblinear-dev
  fonts-inter fonts-jetbrains-mono
)
test_packages=(libgtest-dev xvfb xdotool imagemagick python3 python3-numpy python3-pil python3-venv x11-utils
  openmpi-bin)
ci_packages=(clang-format clang-19 libclang-rt-19-dev shellcheck lld desktop-file-utils file groff-base)

say() { printf 'warpscope: %s\n' "$*" >&2; }

# Fills `missing` with those of the packages "$@" that are not installed; of alternatives, with all of them ("a|b").
find_missing_packages() {
  local entry name installed
  # shellcheck disable=SC2048,SC2086 # alternatives become names of their own
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' ${*//|/ } 2>/dev/null)
  missing=()
  for entry in "$@"; do
    for name in ${entry//|/ }; do
      grep -qx "installed $name" <<<"$installed" && continue 2
    done
    missing+=("$entry")
  done
}

# Replaces each alternative in `missing` by the first that apt knows. Fails if apt knows none: then its lists are old.
choose_packages() {
  local entry name known chosen=()
  # shellcheck disable=SC2048,SC2086
  known=$(LC_ALL=C apt-cache policy ${missing[*]//|/ } 2>/dev/null |
    awk '/^[^ ]+:$/ { name = substr($1, 1, length($1) - 1) } $1 == "Candidate:" && $2 != "(none)" { print name }')
  for entry in "${missing[@]}"; do
    for name in ${entry//|/ }; do
      if grep -qx "$name" <<<"$known"; then
        chosen+=("$name")
        continue 2
      fi
    done
    return 1
  done
  missing=("${chosen[@]}")
}

# Installs the packages in `missing`; apt's output goes to the file $1.
install_packages() {
  local log=$1 as_root=() apt updated=false
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "packages are missing, and installing them takes root or sudo: apt-get install ${missing[*]%%|*}"
      return 2
    fi
    as_root=(sudo)
  fi
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  : >"$log"
  if ! choose_packages; then
    say "bringing apt's package lists up to date"
    "${apt[@]}" update >>"$log" 2>&1
    updated=true
    if ! choose_packages; then
      tail -n 5 "$log" >&2
      say "apt does not know all of these packages: ${missing[*]}"
      return 1
    fi
  fi
  say "installing ${#missing[@]} packages, which can take minutes: ${missing[*]}"
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1 && return
  # Lists that are too old name versions that are gone.
  if ! $updated && "${apt[@]}" update >>"$log" 2>&1 &&
    "${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    return
  fi
  tail -n 20 "$log" >&2
  say "apt-get failed; the whole log is in $log"
  return 1
}

# ensure_packages STAMP MAY_INSTALL PACKAGE...: exits with 2 if packages are missing and may not be installed. The file
# STAMP remembers the answer for this list and this state of dpkg's database, so that the next call asks nobody.
ensure_packages() {
  local stamp=$1 may_install=$2
  shift 2
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "no apt-get here, so nobody checked for these packages: $*"
    return
  fi
  mkdir -p "$(dirname "$stamp")" || exit
  [[ -f $stamp && $(<"$stamp") == "$(package_state "$@")" ]] && return
  find_missing_packages "$@"
  if ((${#missing[@]} > 0)); then
    if ! $may_install; then
      choose_packages
      say "${#missing[@]} packages are missing: ${missing[*]}"
      say "install them with: sudo apt-get install --no-install-recommends ${missing[*]%%|*}"
      exit 2
    fi
    install_packages "$stamp.log" || exit
  fi
  package_state "$@" >"$stamp"
}

package_state() { printf '%s; dpkg %s' "$*" "$(stat -c %Y /var/lib/dpkg/status 2>/dev/null)"; }

# Sets `nvcc` to the CUDA compiler's path, or to "".
find_nvcc() {
  nvcc=$(command -v "${CUDACXX:-nvcc}" || true)
  if [[ -z $nvcc && -x /usr/local/cuda/bin/nvcc ]]; then nvcc=/usr/local/cuda/bin/nvcc; fi
}

# Prints what tells this machine's GPUs from others, or nothing where there is none. Asks nvidia-smi, which can take a
# second, only where the driver's files do not tell.
gpus() {
  local nodes
  nodes=$(compgen -G '/dev/nvidia[0-9]*')
  if [[ -n $nodes ]]; then
    printf '%s' "${nodes//$'\n'/ }"
    sed -n 's/^Model:[[:space:]]*/, /p' /proc/driver/nvidia/gpus/*/information 2>/dev/null | tr -d '\n'
  elif command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader 2>/dev/null | grep -E '[0-9]+\.[0-9]+$' | tr '\n' ' '
  fi
}

# configure BUILD TESTS: configures the release build unless that was done for the same things. TESTS=ON adds the tests,
# OFF leaves them as they are (a new folder has none). WARPSCOPE_CUDA (AUTO, ON, OFF), CUDAARCHS and WARPSCOPE_UNITY
# (ON: eight files are compiled as one, which is faster where all is built; OFF: faster after a change) come from the
# environment.
configure() {
  local build=$1 tests=$2 state key=$1/.configured arguments=() compiler=()
  find_nvcc
  # The compiler's time stands for its version.
  state="$root ${WARPSCOPE_CUDA:-AUTO} ${CUDAARCHS:-} ${WARPSCOPE_UNITY:-ON} ${nvcc:+$nvcc $(stat -L -c %Y "$nvcc")}; $(gpus)"
  if [[ -f $key && $(<"$key") != "$state" ]]; then
    # A configured folder does not notice that a compiler or a GPU came, went or changed.
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" "$build/build.ninja"
  fi
  if [[ ! -f $build/build.ninja || ! -f $key ]]; then
    arguments=(-DWARPSCOPE_TESTS="$tests" -DWARPSCOPE_CUDA="${WARPSCOPE_CUDA:-AUTO}" -DCMAKE_UNITY_BUILD="${WARPSCOPE_UNITY:-ON}")
  elif [[ $tests == ON ]] && ! grep -q '^WARPSCOPE_TESTS:BOOL=ON' "$build/CMakeCache.txt"; then
    arguments=(-DWARPSCOPE_TESTS=ON)
  else
    return 0
  fi
  mkdir -p "$build" && printf '%s' "$state" >"$key" || return
  say "configuring in $build"
  if [[ -n $nvcc ]]; then compiler=(CUDACXX="$nvcc"); fi
  if ! env "${compiler[@]}" cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${arguments[@]}" \
    >"$build/build.log" 2>&1; then
    sed -n '/CMake Error/,$p' "$build/build.log" | head -n 40 >&2
    say "configuring failed; the whole log is in $build/build.log"
    rm -f "$build"/.packages* "$build/build.ninja"
    return 1
  fi
  say "$(sed -n 's/^-- Building /building /p' "$build/build.log")"
}

# Puts TensorBoard, which no Debian package has, into a virtual environment of the tests at $1, and its interpreter into
# WARPSCOPE_PYTHON, unless that is set. Without a network the test that reads event files skips itself.
find_tensorboard() {
  local folder=$1
  [[ -z ${WARPSCOPE_PYTHON:-} ]] || return 0
  if [[ ! -e $folder/ready ]]; then
    if ! { python3 -m venv "$folder" && timeout 180 "$folder/bin/pip" install --quiet tensorboard && touch "$folder/ready"; } \
      >"$folder.log" 2>&1; then
      say "TensorBoard could not be installed: its test is skipped (see $folder.log)"
      return 0
    fi
  fi
  export WARPSCOPE_PYTHON=$folder/bin/python
}

# As many jobs as there are processors, but none without a gigabyte of memory: nvcc takes that much.
job_count() {
  local processors gigabytes
  processors=$(nproc)
  gigabytes=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null)
  gigabytes=${gigabytes:-$processors}
  echo $((gigabytes < 1 ? 1 : gigabytes < processors ? gigabytes : processors))
}

# Reads ninja's output, writes all of it to the file $1 and its progress to stderr: one line rewritten in place on a
# terminal, else a line each quarter.
show_progress() {
  local line step total='' quarter shown=0
  while IFS= read -r line; do
    printf '%s\n' "$line" >&3
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) && ${BASH_REMATCH[3]} != Re-* ]] || continue
    step=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    if [[ -t 2 ]]; then
      printf '\r\033[Kwarpscope: building, step %d of %d' "$step" "$total" >&2
    else
      quarter=$((4 * step / total))
      if ((quarter > shown)); then say "building: $((25 * quarter)) % of $total steps"; fi
      shown=$quarter
    fi
  done 3>"$1"
  if [[ -t 2 && -n $total ]]; then printf '\r\033[K' >&2; fi
}

# What ccache knows of one clone serves another: paths below the source tree count as relative.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1

# build_targets BUILD [TARGET...]: builds quietly; on failure shows the first errors.
build_targets() {
  local build=$1
  shift
  NINJA_STATUS='[%f/%t] ' ninja -C "$build" -j "$(job_count)" "$@" 2>&1 | show_progress "$build/build.log"
  ((PIPESTATUS[0] == 0)) && return
  sed -n '/^FAILED: \|^ninja: error\|CMake Error/,$p' "$build/build.log" | grep -v '^\[[0-9]*/[0-9]*\] ' | head -n 60 >&2
  say "the build failed; the whole log is in $build/build.log"
  rm -f "$build"/.packages*
  return 1
}

# Two callers must not build in one folder at a time. The lock ends with the process or with unlock_build.
lock_build() {
  mkdir -p "$1" && exec 9>"$1/.lock" || return
  if ! flock -n 9; then
    say "waiting for another build in $1"
    flock 9
  fi
}
unlock_build() { exec 9>&-; }
