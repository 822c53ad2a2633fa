package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// A picture is drawn as SVG from numbers that are kept as JSON: a figure or a growth.
type picture interface {
	check() error
	svg() []byte
}

// readPicture reads the numbers of a picture from a JSON file. The member "charts" is only in files
// of a growth.
func readPicture(file string) (picture, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var members struct {
		Charts json.RawMessage `json:"charts"`
	}
	var p picture = &figure{}
	if err = json.Unmarshal(text, &members); err == nil {
		if members.Charts != nil {
			p = &growth{}
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(p)
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// writePicture writes a picture as SVG and as JSON, to the files whose names are not "".
func writePicture(p picture, svg, data string) error {
	if svg != "" {
		if err := os.WriteFile(svg, p.svg(), 0o644); err != nil {
			return err
		}
	}
	if data == "" {
		return nil
	}
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(data, append(text, '\n'), 0o644)
}
