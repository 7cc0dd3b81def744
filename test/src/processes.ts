import { listProcesses, type RunningProcess } from '@parley/embedded'

export { listProcesses, type RunningProcess, sendSignal as signal } from '@parley/embedded'

/** All descendants of a process. */
export async function descendantsOf(pid: number): Promise<RunningProcess[]> {
  const all = await listProcesses()
  const family: RunningProcess[] = []
  const parents = new Set([pid])
  for (let found = true; found; ) {
    const next = all.filter((each) => parents.has(each.parent) && !parents.has(each.pid))
    for (const each of next) parents.add(each.pid)
    family.push(...next)
    found = next.length > 0
  }
  return family
}
