// Package filewatch notices that files change: a [Watcher] reports it, and a [Value] is parsed
// from them again.
package filewatch

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

// A fingerprint identifies the content of a file, regardless of its time.
type fingerprint struct {
	sum  [sha256.Size]byte // of the content, or of the error of reading it
	info fs.FileInfo       // nil if the file does not exist
	read time.Time
}

// A File is a file as a check finds it.
type File struct {
	Info fs.FileInfo
	Err  error // why the file has no info
	Open func() (fs.File, error)
}

// A Watcher reports that files have changed, appeared or disappeared. It reads only those that
// may have changed, one block after the other, and never waits for a pipe.
type Watcher struct {
	Files func() map[string]File // by path
	Limit int64                  // bytes; a larger file is not read
	last  map[string]fingerprint
}

// At returns the files at paths, for a Watcher.
func At(paths func() []string) func() map[string]File {
	return func() map[string]File {
		files := map[string]File{}
		for _, path := range paths() {
			info, err := os.Stat(path)
			files[path] = File{info, err, func() (fs.File, error) {
				f, _, err := userfile.Open(path)
				return f, err
			}}
		}
		return files
	}
}

// interval is the interval of checks. A change is reported when two checks see the same
// content, because editors write in several steps, and a half-written file may be valid.
const interval = time.Second

// Run calls changed once at the start and whenever the files have changed, until ctx ends. When it
// receives a value from now, it calls changed at once, with asked set.
func (f *Watcher) Run(ctx context.Context, now <-chan struct{}, changed func(asked bool)) {
	var reported map[string][sha256.Size]byte
	seen := f.snapshot(ctx)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		before, asked := seen, false
		select {
		case <-ticker.C:
			seen = f.snapshot(ctx)
			if !maps.Equal(seen, before) || maps.Equal(seen, reported) {
				continue
			}
		case <-now:
			seen, asked = f.snapshot(ctx), true
		case <-ctx.Done():
			return
		}
		reported = seen // from before changed reads the files: a later change is reported again
		changed(asked)
	}
}

// snapshot returns the state of the files. Two snapshots are equal if the files are. It returns nil
// when ctx has ended.
func (f *Watcher) snapshot(ctx context.Context) map[string][sha256.Size]byte {
	files := f.Files()
	now, sums := make(map[string]fingerprint, len(files)),
		make(map[string][sha256.Size]byte, len(files))
	for path, file := range files {
		if ctx.Err() != nil {
			return nil
		}
		print, known := f.last[path]
		if file.Err != nil {
			print = fingerprint{sum: sha256.Sum256([]byte(file.Err.Error()))}
		} else if !known || !print.isUnchanged(file.Info) {
			print = fingerprint{info: file.Info, read: time.Now()}
			var err error
			if print.sum, err = sumOf(file.Open, f.Limit); err != nil {
				print.sum = sha256.Sum256([]byte(err.Error()))
			}
		}
		now[path], sums[path] = print, print.sum
	}
	f.last = now
	return sums
}

// sumOf returns the digest of a file of at most limit bytes.
func sumOf(open func() (fs.File, error), limit int64) (sum [sha256.Size]byte, err error) {
	file, err := open()
	if err != nil {
		return sum, err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, limit+1))
	if err == nil && n > limit {
		err = errors.New("too large")
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}

// isUnchanged reports whether info proves that the file has not changed since it was read.
func (p *fingerprint) isUnchanged(info fs.FileInfo) bool {
	return atomicfile.Unchanged(p.info, p.read, info)
}
