package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Format and version of the files. A reader refuses versions that it does not
// know.
const (
	profileFormat = "remora-profile"
	sampleFormat  = "remora-sample"
	fileVersion   = 1
)

// profileFile is a profile as it is in a file. Field names are those that
// validate uses.
type profileFile struct {
	Format  string      `json:"format"`
	Version int         `json:"version"`
	Fabric  string      `json:"fabric"`
	Machine string      `json:"machine"`
	Date    time.Time   `json:"date"`
	How     string      `json:"how"`
	L       int         `json:"l"`
	H       int         `json:"h"`
	N       int         `json:"n"`
	Table   []tableLine `json:"table"`
}

type tableLine struct {
	F      int       `json:"f"`
	ReadNs int64     `json:"read_ns"`
	Reply  float64   `json:"reply_per_sec"`
	PerSec []float64 `json:"per_sec"`
}

// DefaultPath is where the profile of a fabric is kept: in the user's
// configuration directory.
func DefaultPath(fabric string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("tune: no directory for profiles: %w", err)
	}
	return filepath.Join(dir, "remora", "profile-"+fabric+".json"), nil
}

// Save writes a profile to a file, as a whole or not at all, and makes its
// directory.
func (p *Profile) Save(path string) error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("tune: the profile is not saved: %w", err)
	}
	f := profileFile{
		Format: profileFormat, Version: fileVersion, Fabric: p.Fabric, Machine: p.Machine,
		Date: p.Date, How: p.How, L: p.L, H: p.H, N: p.N,
	}
	for _, q := range p.Points {
		f.Table = append(f.Table, tableLine{q.F, int64(q.ReadTime), q.Reply, q.Rates})
	}
	return write(path, f)
}

// LoadProfile reads a profile from a file. Its error names the file and all
// fields that are wrong.
func LoadProfile(path string) (*Profile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseProfile(path, b)
}

// parseProfile makes a profile of the content of a file.
func parseProfile(path string, b []byte) (*Profile, error) {
	var f profileFile
	if err := parse(path, b, profileFormat, &f); err != nil {
		return nil, err
	}
	p := &Profile{
		Fabric: f.Fabric, Machine: f.Machine, Date: f.Date, How: f.How, L: f.L, H: f.H, N: f.N,
	}
	for _, t := range f.Table {
		p.Points = append(p.Points, Point{t.F, time.Duration(t.ReadNs), t.Reply, t.PerSec})
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("profile %s: %w", path, err)
	}
	return p, nil
}

// sampleFile is a sample as it is in a file.
type sampleFile struct {
	Format  string      `json:"format"`
	Version int         `json:"version"`
	Results []sizeCount `json:"results"`
	Times   []timeCount `json:"process_times"`
}

// sizeCount counts results of one length, in bytes without any header.
type sizeCount struct {
	Bytes int    `json:"bytes"`
	Count uint32 `json:"count"`
}

type timeCount struct {
	Ns    int64  `json:"ns"`
	Count uint32 `json:"count"`
}

// Save writes a sample to a file, as a whole or not at all.
func (s *Sample) Save(path string) error {
	f := sampleFile{Format: sampleFormat, Version: fileVersion, Results: []sizeCount{}, Times: []timeCount{}}
	for n, c := range s.frames {
		if c != 0 {
			f.Results = append(f.Results, sizeCount{n - headers, c})
		}
	}
	for step, c := range s.times {
		if c != 0 {
			f.Times = append(f.Times, timeCount{int64(endOf(step)), c})
		}
	}
	return write(path, f)
}

// LoadSample reads a sample from a file. Its error names the file and all fields
// that are wrong.
func LoadSample(path string) (*Sample, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseSample(path, b)
}

// parseSample makes a sample of the content of a file.
func parseSample(path string, b []byte) (*Sample, error) {
	var f sampleFile
	if err := parse(path, b, sampleFormat, &f); err != nil {
		return nil, err
	}
	s := NewSample()
	var errs []error
	for i, r := range f.Results {
		if r.Bytes < 0 || !fits(s.results, r.Count) {
			errs = append(errs, fmt.Errorf("results[%d]: %d bytes, count %d: neither may be negative, and all counts make at most %d",
				i, r.Bytes, r.Count, fullCount/2))
			continue
		}
		s.add(min(r.Bytes, longer-headers)+headers, r.Count)
	}
	for i, t := range f.Times {
		if t.Ns < 0 || !fits(s.timed, t.Count) {
			errs = append(errs, fmt.Errorf("process_times[%d]: %d ns, count %d: neither may be negative, and all counts make at most %d",
				i, t.Ns, t.Count, fullCount/2))
			continue
		}
		s.addTime(time.Duration(t.Ns), t.Count)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("sample %s: %w", path, err)
	}
	return s, nil
}

// fits says whether a count can be added without ageing what is there.
func fits(sum uint64, n uint32) bool { return sum+uint64(n) <= fullCount/2 }

// parse takes the content of a file of a format apart, into v.
func parse(path string, b []byte, format string, v any) error {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("%s: %w", path, explain(b, err))
	}
	if head.Format != format {
		return fmt.Errorf("%s: format is %q, must be %q", path, head.Format, format)
	}
	if head.Version != fileVersion {
		return fmt.Errorf("%s: version is %d, this program knows %d", path, head.Version, fileVersion)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, explain(b, err))
	}
	return nil
}

// explain says where in a file JSON is wrong.
func explain(b []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %w", lineOf(b, syntax.Offset), err)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("line %d: %s is a %s, must be a %v", lineOf(b, kind.Offset), kind.Field, kind.Value, kind.Type)
	}
	return err
}

func lineOf(b []byte, offset int64) int {
	return 1 + bytes.Count(b[:min(int(offset), len(b))], []byte("\n"))
}

// write writes v to a file that others see only when it is complete.
func write(path string, v any) (err error) {
	text, err := format(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".remora-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// format writes the fields of v on lines of their own, and the elements of a
// list too, but what is in them on one line: a table stays a table.
func format(v any) ([]byte, error) {
	flatText, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(flatText))
	d.UseNumber()
	if _, err := d.Token(); err != nil { // {
		return nil, err
	}
	for sep := "{\n"; d.More(); sep = ",\n" {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s  %q: ", sep, name)
		if err := formatValue(&b, value); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

func formatValue(b *bytes.Buffer, value json.RawMessage) error {
	var list []json.RawMessage
	if value[0] != '[' {
		_, err := b.Write(value)
		return err
	}
	if err := json.Unmarshal(value, &list); err != nil {
		return err
	}
	for i, e := range list {
		sep := ",\n    "
		if i == 0 {
			sep = "[\n    "
		}
		b.WriteString(sep)
		b.Write(e)
	}
	if len(list) == 0 {
		_, err := io.WriteString(b, "[]")
		return err
	}
	b.WriteString("\n  ]")
	return nil
}
