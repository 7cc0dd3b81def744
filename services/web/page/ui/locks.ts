/** Runs `work` in one tab at a time, if the browser has Web Locks. */
export function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const { locks } = navigator as { locks?: LockManager }
  return locks ? locks.request(name, work) : work()
}
