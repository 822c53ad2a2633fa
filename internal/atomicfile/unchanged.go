package atomicfile

import (
	"io/fs"
	"os"
	"time"
)

// timestampGranularity is the interval in which two changes of a file may have the same timestamp.
const timestampGranularity = 3 * time.Second

// Unchanged reports whether now, the current state of a file, proves that the file has not changed
// since it had the state before and was read. before is nil if the file did not exist.
func Unchanged(before fs.FileInfo, read time.Time, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() &&
		before.ModTime().Equal(now.ModTime()) && before.Mode() == now.Mode() &&
		read.Sub(now.ModTime()) > timestampGranularity
}
