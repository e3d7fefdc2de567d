// SPDX-License-Identifier: Apache-2.0
// A value that follows another a moment later, so that typing is not held up by what is filtered.
import { useEffect, useState } from "preact/hooks";

export function useDeferred<Value>(value: Value, ms = 80): Value {
  const [late, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return late;
}
