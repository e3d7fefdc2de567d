// SPDX-License-Identifier: Apache-2.0
// Returns a value with a short delay, so that filtering does not slow down typing.
import { useEffect, useState } from "preact/hooks";

export function useDeferred<Value>(value: Value, ms = 80): Value {
  const [late, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return late;
}
