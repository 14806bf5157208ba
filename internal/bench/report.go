package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// report prints a row for each bound and reports whether all are kept, each with so much
// slack.
func report(out io.Writer, figures []*figure, slack float64) bool {
	ok := true
	w := tabwriter.NewWriter(out, 0, 8, 1, ' ', 0)
	fmt.Fprintln(w, "| figure\t| SDK\t| bare\t| Postern\t| bound\t| is\t| must\t| goal\t| |\n| ---\t| --:\t| --:\t| --:\t| ---\t| --:\t| --:\t| --:\t| --- |")
	for _, f := range figures {
		for _, b := range f.bounds {
			is := f.ratio(b)
			verdict := "goal met"
			switch {
			case math.IsNaN(is):
				verdict, ok = "not measured", false
			case !b.keeps(is, b.must, slack):
				verdict, ok = "MISSED", false
			case !b.keeps(is, b.goal, 1):
				verdict = "met"
				if !b.keeps(is, b.must, 1) {
					verdict = "within the slack"
				}
			}
			sign := "≥"
			if b.atMost {
				sign = "≤"
			}
			fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t| %s\t| %#.3g\t| %s %.2f\t| %.2f\t| %s |\n", f.what, f.median(sdk, b.value), f.median(bare, b.value), f.median(postern, b.value),
				b.what, is, sign, b.must, b.goal, verdict)
		}
	}
	_ = w.Flush()
	return ok
}

func (b bound) keeps(is, limit, slack float64) bool {
	if b.atMost {
		return is <= limit*slack
	}
	return is >= limit/slack
}

// ratio is the median of the ratios within each turn, or of the values themselves.
func (f *figure) ratio(b bound) float64 {
	var ratios []float64
	for turn, values := range f.values[postern] {
		of := 1.0
		if b.to != postern {
			of = f.values[b.to][turn][b.value]
		}
		ratios = append(ratios, values[b.value]/of)
	}
	return median(ratios)
}

// median is the median of one value of the target in a place, "" where there is none.
func (f *figure) median(place, value int) string {
	if f.targets[place] == nil {
		return ""
	}
	var all []float64
	for _, values := range f.values[place] {
		all = append(all, values[value])
	}
	m := median(all)
	if m >= 1000 {
		return fmt.Sprintf("%.0f", m)
	}
	return fmt.Sprintf("%.4g", m)
}

// median is not a number if one of the values is none.
func median(v []float64) float64 {
	if len(v) == 0 || slices.ContainsFunc(v, math.IsNaN) {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
