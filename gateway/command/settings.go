package command

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the flags of one command and where else their values come from.
// It is a thin layer over package flag, because the struct-tag parsers known to
// us cost more at every start than the rest of the gateway's start-up.
type settings struct {
	flags  *flag.FlagSet
	prefix string // of environment variables
	file   *configFile
	rows   []*setting // in the order they were declared
}

// setting is one row of a command's help and of `config`.
type setting struct {
	name        string // of the flag: api-url
	placeholder string // "" for a switch
	help        string
	fallback    string // as text; "" for none
	source      string // flag, environment, the file's path or default
	flagOnly    bool   // says what to do now, not how the gateway is set up
	flag        *flag.Flag
}

func newSettings(command, prefix string, file *configFile) *settings {
	s := &settings{flags: flag.NewFlagSet(command, flag.ContinueOnError), prefix: prefix, file: file}
	s.flags.SetOutput(discard{})
	return s
}

// discard drops what package flag would print: errors are printed in one place.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// declare adds a row for a flag that has just been defined.
func (s *settings) declare(name, placeholder, help string) {
	f := s.flags.Lookup(name)
	row := &setting{name: name, placeholder: placeholder, help: help, flag: f, source: "default"}
	if f.DefValue != "false" && f.DefValue != "[]" {
		row.fallback = f.DefValue
	}
	s.rows = append(s.rows, row)
}

func (s *settings) text(name, fallback, placeholder, help string) *string {
	v := s.flags.String(name, fallback, "")
	s.declare(name, placeholder, help)
	return v
}

func (s *settings) on(name, help string) *bool {
	v := s.flags.Bool(name, false, "")
	s.declare(name, "", help)
	return v
}

func (s *settings) duration(name string, fallback time.Duration, help string) *time.Duration {
	v := s.flags.Duration(name, fallback, "")
	s.declare(name, "DURATION", help)
	return v
}

func (s *settings) size(name string, fallback int64, help string) *int64 {
	v := s.flags.Int64(name, fallback, "")
	s.declare(name, "BYTES", help)
	return v
}

func (s *settings) count(name string, fallback int64, help string) *int64 {
	v := s.flags.Int64(name, fallback, "")
	s.declare(name, "COUNT", help)
	return v
}

func (s *settings) number(name string, fallback float64, help string) *float64 {
	v := s.flags.Float64(name, fallback, "")
	s.declare(name, "NUMBER", help)
	return v
}

func (s *settings) list(name, placeholder, help string) *[]string {
	v := new(list)
	s.flags.Var(v, name, "")
	s.declare(name, placeholder, help)
	return (*[]string)(v)
}

func (s *settings) choice(name, fallback string, choices []string, help string) *string {
	v := &choice{value: fallback, choices: choices}
	s.flags.Var(v, name, "")
	s.declare(name, strings.Join(choices, "|"), help)
	return &v.value
}

// list is a flag that may be repeated or hold values separated by commas.
type list []string

func (l *list) String() string { return fmt.Sprint([]string(*l)) }

// Set implements [flag.Value].
func (l *list) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	return nil
}

// choice is a flag with a closed set of values.
type choice struct {
	value   string
	choices []string
}

func (c *choice) String() string { return c.value }

// Set implements [flag.Value].
func (c *choice) Set(s string) error {
	if !slices.Contains(c.choices, s) {
		return fmt.Errorf("expected one of %s", strings.Join(c.choices, ", "))
	}
	c.value = s
	return nil
}

// parse reads the command line, then fills in from the environment and the file
// what it does not set. It returns the positional arguments, which may stand
// among the flags.
func (s *settings) parse(args []string) ([]string, error) {
	var positional []string
	for {
		if err := s.flags.Parse(args); err != nil {
			// Package flag does not say what it would accept.
			if what, ok := strings.CutSuffix(err.Error(), ": parse error"); ok {
				return nil, fmt.Errorf("%s: %w", what, plain(errParse))
			}
			return nil, err
		}
		rest := s.flags.Args()
		if len(rest) == 0 {
			break
		}
		if consumed := len(args) - len(rest); consumed > 0 && args[consumed-1] == "--" {
			positional = append(positional, rest...)
			break
		}
		positional, args = append(positional, rest[0]), rest[1:]
	}
	s.flags.Visit(func(f *flag.Flag) { s.row(f.Name).source = "flag" })
	for _, row := range s.rows {
		if row.source == "flag" || row.flagOnly {
			continue
		}
		if value := os.Getenv(s.variable(row)); value != "" {
			if err := s.flags.Set(row.name, value); err != nil {
				return nil, fmt.Errorf("%s is %q: %w", s.variable(row), value, plain(err))
			}
			row.source = "environment"
		} else if value, ok := s.file.value(row.key()); ok {
			if err := s.flags.Set(row.name, value); err != nil {
				return nil, fmt.Errorf("%s: %s is %q: %w", s.file.path, row.key(), value, plain(err))
			}
			row.source = s.file.path
		}
	}
	return positional, nil
}

// errParse is what package flag says of a value it cannot read.
var errParse = errors.New("parse error")

// plain says what package flag's parse errors mean.
func plain(err error) error {
	if n, ok := err.(*strconv.NumError); ok { //nolint:errorlint // as package flag hands it on
		return fmt.Errorf("not a number (%w)", n.Err)
	}
	if err.Error() == errParse.Error() {
		return fmt.Errorf("expected a number, true or false, or a duration such as 30s")
	}
	return err
}

// flagOnly makes a flag one that neither environment nor file can set.
func (s *settings) flagOnly(name string) { s.row(name).flagOnly = true }

func (s *settings) has(name string) bool { return s.flags.Lookup(name) != nil }

// mustBe refuses a value by the names its setting has.
func (s *settings) mustBe(name, limit string) error {
	r := s.row(name)
	return usage("%s is %s; it must be %s (--%s, %s)", r.key(), r.flag.Value, limit, name, s.variable(r))
}

// checkRate refuses what is no rate: not a number, negative, or too small or large
// to count with.
func (s *settings) checkRate(name string, perSecond float64) error {
	if perSecond == 0 || perSecond >= 0.001 && perSecond <= 1e9 {
		return nil
	}
	return s.mustBe(name, "0, or from 0.001 to 1e9")
}

func (s *settings) row(name string) *setting {
	return s.rows[slices.IndexFunc(s.rows, func(r *setting) bool { return r.name == name })]
}

// variable is the environment variable of a setting: VIAT_API_URL for api-url.
func (s *settings) variable(r *setting) string {
	return s.prefix + "_" + strings.ToUpper(r.key())
}

// key is the setting's name in the configuration file.
func (r *setting) key() string { return strings.ReplaceAll(r.name, "-", "_") }
