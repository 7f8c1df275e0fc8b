class Nb < Formula
  desc "N-body gravity as a chain of Unix filters"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "gcc" => :build
  depends_on "libdeflate" => :build
  depends_on :linux

  def install
    gcc = Formula["gcc"]
    without = %w[CUDA=0 HDF5=0 JPEG=0 WEBP=0 FREETYPE=0 MICROHTTPD=0]
    system "make", "install", "CC=#{gcc.opt_bin}/gcc-#{gcc.version.major}", "PREFIX=#{prefix}", *without
  end

  test do
    system bin/"nb-gen", "figure8", "-o", "figure8.nb"
    system bin/"nb-stats", "--check", "figure8.nb"
    assert_match version.to_s, shell_output("#{bin}/nb --version")
  end
end
