package telemetry

// The tests read metrics without an encoding between.
type Metric = metric

func (t *Telemetry) Metrics() []Metric    { return t.metrics() }
func (t *Telemetry) DroppedSpans() uint64 { return t.droppedSpans() }
func (p *point) Count() uint64            { return p.count() }
