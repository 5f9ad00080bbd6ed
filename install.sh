#!/bin/sh
# Installs the programs of the hub for one user: curl -fsSL URL/install.sh | sh
# Everything is a function that the last line calls, so a script that was only half downloaded does nothing.
set -eu

usage() {
  cat <<'HELP'
Installs hubd, hubctl, hub-top, hub-desktop and hub-acp for Linux or macOS, without root.

usage: install.sh [--to DIR] [--version V] [--from URL-OR-DIR]

  --to DIR            install the programs into DIR; default: ~/.local/bin
  --version V         install this version, such as 0.1.0; default: the latest
  --from URL-OR-DIR   take the archive and SHA256SUMS from there, such as target/package; default: the hub's releases
  --help              print this help

example: curl -fsSL URL/install.sh | sh -s -- --to ~/bin
HELP
}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

# Rust's names of the targets whose archives run on this machine, best first.
targets() {
  case $(uname -m) in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) fail "there is no archive for the processor $(uname -m): build from the sources, as docs/guide/install.md explains" ;;
  esac
  case $(uname -s) in
    Linux) echo "$cpu-unknown-linux-musl $cpu-unknown-linux-gnu" ;;
    Darwin) echo "$cpu-apple-darwin" ;;
    *) fail "there is no archive for the system $(uname -s): build from the sources, as docs/guide/install.md explains" ;;
  esac
}

# Copies the file $1 of the releases into the directory $2.
fetch() {
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$2/$1" "$from/$1"
      elif command -v wget >/dev/null; then
        wget -q -O "$2/$1" "$from/$1"
      else
        fail "curl and wget are missing: install one of them"
      fi
      ;;
    *) cp "$from/$1" "$2/$1" ;;
  esac || fail "cannot get $1 from $from: check the address, and --version"
}

sha256() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    fail "sha256sum and shasum are missing: install coreutils or perl"
  fi
}

# Prints the line of SHA256SUMS with the archive for the targets $1. The last one is the newest.
listed() {
  for target in $1; do
    line=$(grep -E "^[0-9a-f]{64} [ *]hub-${version:-[0-9][0-9A-Za-z.+-]*}-$target\.tar\.gz\$" "$work/SHA256SUMS" | tail -n 1)
    [ -z "$line" ] || break
  done
  [ -n "$line" ] || fail "$from has no archive${version:+ of $version} for this machine ($1): build from the sources, as docs/guide/install.md explains"
  echo "$line"
}

# Gets the archive, verifies it, and unpacks its programs to $programs.
unpack() {
  wanted=$(targets)
  fetch SHA256SUMS "$work"
  line=$(listed "$wanted")
  archive=${line##*[ *]}
  fetch "$archive" "$work"
  sum=$(sha256 "$work/$archive")
  [ "${sum%% *}" = "${line%% *}" ] || fail "$archive has another checksum than SHA256SUMS says, so nothing was installed: try again"
  gzip -dc "$work/$archive" | tar -xf - -C "$work"
  programs=$work/${archive%.tar.gz}/bin
}

# Replaces each program by a rename, so those that run are not disturbed.
install_programs() {
  mkdir -p "$to"
  to=$(cd "$to" && pwd)
  new=$to/.hub-new-$$
  mkdir "$new"
  cp "$programs"/* "$new"
  installed=$("$new/hubctl" --version) || fail "the programs of $archive do not run on this machine, so nothing was installed"
  mv -f "$new"/* "$to"
  rmdir "$new"
}

# Prints what was installed, and what to do next.
report() {
  echo "installed $(cd "$programs" && echo *) ${installed#* } in $to"
  first=$(command -v hubctl || true)
  case :$PATH: in
    *":$to:"*) [ "$first" = "$to/hubctl" ] || echo "but PATH finds $first first: remove it, or move $to to the front" ;;
    *) echo "$to is not on PATH: add this line to your shell's profile: export PATH=\"$to:\$PATH\"" ;;
  esac
  echo "next: 'hubctl up' starts the hub in the background, 'hubctl service install' at each login; repeat the latter after an upgrade"
}

main() {
  url="@URL@"
  to=
  from=
  version=
  while [ $# -gt 0 ]; do
    [ "$1" != --help ] || { usage; exit; }
    [ $# -ge 2 ] || fail "unknown argument '$1', or one without its value: see --help"
    case $1 in
      --to) to=$2 ;;
      --from) from=${2%/} ;;
      --version) version=${2#v} ;;
      *) fail "unknown argument '$1': see --help" ;;
    esac
    shift 2
  done
  to=${to:-$HOME/.local/bin}
  if [ -z "$from" ]; then
    case $url in http*) ;; *) fail "this copy knows no address: name one with --from, or use the install.sh of a release" ;; esac
    from=$url/releases/latest/download
    [ -z "$version" ] || from=$url/releases/download/v$version
  fi
  work=$(mktemp -d)
  new=
  trap 'rm -rf "$work" ${new:+"$new"}' EXIT
  trap 'exit 1' HUP INT TERM
  unpack
  install_programs
  report
}

main "$@"
