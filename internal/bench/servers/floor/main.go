// Command floor only copies bytes: what it costs is what pipes and processes cost.
package main

import (
	"io"
	"log"
	"os"
)

func main() {
	if _, err := io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{os.Stdin}); err != nil {
		log.Fatal(err)
	}
}
