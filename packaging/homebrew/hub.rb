# Builds the hub from the sources. ./package fills in the version, the address and the checksum.
class Hub < Formula
  desc "Durable notifications between coding agents on one machine"
  homepage "@URL@"
  url "@URL@/releases/download/v@VERSION@/hub_@VERSION@.source.tar.gz"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--profile", "dist", *std_cargo_args(path: "server")
    ["client", "client/top", "client/desktop", "client/acp"].each do |path|
      system "cargo", "install", "--profile", "small", *std_cargo_args(path: path)
    end
    system "cargo", "run", "--locked", "--package", "hub-packaging", "--", buildpath/"stage"
    man1.install Dir["stage/share/man/man1/*"]
    man5.install Dir["stage/share/man/man5/*"]
    bash_completion.install Dir["stage/share/bash-completion/completions/*"]
    zsh_completion.install Dir["stage/share/zsh/vendor-completions/*"]
    fish_completion.install Dir["stage/share/fish/vendor_completions.d/*"]
    elisp.install "client/emacs/hub.el"
  end

  service do
    run opt_bin/"hubd"
    keep_alive successful_exit: false
    error_log_path var/"log/hubd.log"
  end

  test do
    ENV["HUB_STATE_DIR"] = testpath/"state"
    system bin/"hubctl", "up", "--listen", "127.0.0.1:0"
    system bin/"hubctl", "notify", "--project", "test", "--from", "brew", "first wake"
    assert_match "first wake", shell_output("#{bin}/hubctl wait --project test --timeout 60")
  ensure
    system bin/"hubctl", "down"
  end
end
