package main

import (
	"fmt"
	"strings"
	"time"
)

const gatewayCalls = 1_000_000

// gatewayLoadSuite makes a million calls through a gateway in each scenario. It fails if the memory
// of the gateway grows.
func gatewayLoadSuite(options) ([]measure, error) {
	g, err := buildGateway()
	if err != nil {
		return nil, err
	}
	defer g.remove()
	var all []measure
	for _, s := range scenarios {
		m, err := g.load(&s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func (g *gatewayBinary) load(s *scenario) (m measure, err error) {
	routes, err := g.startRoutes(s)
	defer stopAll(routes)
	if err != nil {
		return m, err
	}
	w := routes[len(routes)-1] // stdwire
	if err := w.callInBatches(gatewayCalls / 20); err != nil {
		return m, err
	}
	early, err := w.memory("VmRSS")
	if err != nil {
		return m, err
	}
	begin := time.Now()
	if err := w.callInBatches(gatewayCalls); err != nil {
		return m, err
	}
	took := time.Since(begin)
	late, err := w.memory("VmRSS")
	if err != nil {
		return m, err
	}
	if late > 1.25*early+4 {
		return m, fmt.Errorf("the gateway took %.1f MiB after %d calls, and %.1f MiB after %d more",
			early, gatewayCalls/20, late, gatewayCalls)
	}
	return measure{"64 B, batches of 64, " + s.name, w.program, gatewayCalls / took.Seconds(),
		"calls/s", true,
		fmt.Sprintf("RSS %.1f MiB after %d calls, %.1f MiB after %d more", early, gatewayCalls/20,
			late, gatewayCalls)}, nil
}

// callInBatches makes calls, 64 at a time.
func (w *route) callInBatches(calls int) error {
	const batch = 64
	call := newNumberedCall(callFrame(w.tool, 1, strings.Repeat("x", 64)))
	var frames []byte
	for sent := 0; sent < calls; {
		frames = frames[:0]
		for range batch {
			sent++
			frames = call.append(frames, sent)
		}
		if _, err := w.out.Write(frames); err != nil {
			return err
		}
		for range batch {
			if _, err := w.response(); err != nil {
				return err
			}
		}
	}
	return nil
}
