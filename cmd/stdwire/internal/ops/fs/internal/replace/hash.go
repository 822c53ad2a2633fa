package replace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
)

// HexSum returns the SHA-256 of data in hexadecimal.
func HexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// hashFile returns the SHA-256 of a file in hexadecimal.
func hashFile(ctx context.Context, dir *os.Root, name, shown string) (string, error) {
	f, _, err := rootdir.OpenFile(dir, name, shown)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, rootdir.WithContext(ctx, f)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
