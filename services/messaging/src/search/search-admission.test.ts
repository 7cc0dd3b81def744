import { expect, test } from 'vitest'
import { createAdmission } from './search-admission.ts'

test('the searches of a person delay only their own', async () => {
  const admit = createAdmission({ atOnce: 2, waiting: 3, perPerson: 4 })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const search = (userId: string, name: string) =>
    admit(userId, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
    })
  const all = [search('cat', 'cat 1'), search('cat', 'cat 2'), search('cat', 'cat 3'), search('bob', 'bob 1')]
  await expect.poll(() => begun).toEqual(['cat 1', 'bob 1'])

  // Two searches of Cat wait, and then one of Ann: the queue is full.
  all.push(search('ann', 'ann 1'))
  await expect(search('dan', 'dan 1')).rejects.toMatchObject({ status: 503 })
  ends.get('bob 1')!()
  await expect.poll(() => begun).toEqual(['cat 1', 'bob 1', 'ann 1'])
  ends.get('cat 1')!()
  await expect.poll(() => begun).toEqual(['cat 1', 'bob 1', 'ann 1', 'cat 2'])
  all.push(search('cat', 'cat 4'), search('cat', 'cat 5'))
  await expect(search('cat', 'cat 6')).rejects.toMatchObject({ status: 429 })

  for (const next of ['ann 1', 'cat 2', 'cat 3', 'cat 4', 'cat 5']) {
    await expect.poll(() => begun).toContain(next)
    ends.get(next)!()
  }
  await Promise.all(all)
})
