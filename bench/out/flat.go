package out

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Columns are the names of the columns of a type of rows (F1, F2).
func Columns[R any]() []string { return columns(reflect.TypeFor[R](), "") }

// Cells are the values of a row, one for each column.
func Cells[R any](row R) ([]string, error) { return cells(reflect.ValueOf(row)) }

func columns(t reflect.Type, prefix string) (out []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := nameOf(f)
		if !ok {
			continue
		}
		if inner, ok := structOf(f.Type); ok {
			out = append(out, columns(inner, under(prefix, name))...)
		} else {
			out = append(out, under(prefix, name))
		}
	}
	return out
}

func under(prefix, name string) string {
	if prefix == "" || name == "" {
		return prefix + name
	}
	return prefix + "_" + name
}

// nameOf is the name that a field has in JSON; false: it has none. That of an embedded
// structure is empty.
func nameOf(f reflect.StructField) (string, bool) {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	_, nested := structOf(f.Type)
	switch {
	case tag == "-", !f.IsExported() && !f.Anonymous:
		return "", false
	case tag != "":
		return tag, true
	case f.Anonymous && nested:
		return "", true
	}
	return f.Name, f.IsExported()
}

// structOf is the structure that a field holds or points to.
func structOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, t.Kind() == reflect.Struct
}

func cells(v reflect.Value) (out []string, err error) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if _, ok := nameOf(f); !ok {
			continue
		}
		field := v.Field(i)
		inner, nested := structOf(f.Type)
		switch {
		case nested && field.Kind() == reflect.Pointer && field.IsNil():
			out = append(out, make([]string, len(columns(inner, "")))...)
		case nested:
			more, err := cells(reflect.Indirect(field))
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		default:
			cell, err := cell(field)
			if err != nil {
				return nil, err
			}
			out = append(out, cell)
		}
	}
	return out, nil
}

// cell writes one value (F3, F4).
func cell(v reflect.Value) (string, error) {
	k := v.Kind()
	if k == reflect.Pointer && v.IsNil() || (k == reflect.Slice || k == reflect.Map) && v.Len() == 0 {
		return "", nil
	}
	if v = reflect.Indirect(v); v.Kind() == reflect.String {
		return v.String(), nil
	}
	text, err := json.Marshal(v.Interface())
	return string(text), err
}
