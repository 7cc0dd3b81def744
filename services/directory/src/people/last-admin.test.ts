import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { expect, test } from 'vitest'

const environment = testEnvironment()
const refusal = { status: 400, body: { code: 'last_admin' } }

/** Creates a person whom an admin makes an admin. */
async function madeAdmin(name: string, by: Person): Promise<Person> {
  const person = await Person.signIn(environment.baseUrl, `${name}@example.com`)
  expect(await by.put(`/users/${person.id}/role`, { role: 'admin' })).toMatchObject({ status: 200 })
  return person
}

/** The person among them who is still an admin. There must be exactly one. */
async function theOneLeft(people: Person[]): Promise<Person> {
  const rows = await environment.deps.db
    .selectFrom('users')
    .select('id')
    .where('isAdmin', '=', true)
    .where('removedAt', 'is', null)
    .execute()
  expect(rows).toHaveLength(1)
  return people.find(({ id }) => id === rows[0]!.id)!
}

test('the last admin can neither be demoted, removed nor exit', async () => {
  const { ada } = environment.people
  expect(await ada.put(`/users/${ada.id}/role`, { role: 'user' })).toMatchObject(refusal)
  expect(await ada.delete(`/users/${ada.id}`)).toMatchObject(refusal)
  expect(await ada.post('/users/exit')).toMatchObject(refusal)
})

test('admins demote and remove each other and leave at once: one remains', async () => {
  let boss = environment.people.ada
  for (const round of [1, 2, 3]) {
    const people = [boss, await madeAdmin(`bea${round}`, boss), await madeAdmin(`cem${round}`, boss)]
    const responses = await Promise.all(
      people.flatMap((admin) => [
        ...people.filter((other) => other !== admin).map(({ id }) => admin.put(`/users/${id}/role`, { role: 'user' })),
        ...(round === 1 ? [] : people.map(({ id }) => admin.delete(`/users/${id}`))),
        ...(round === 1 ? [] : [admin.post('/users/exit')]),
      ]),
    )
    expect(responses.filter(({ status }) => ![200, 400, 401, 403, 404].includes(status))).toEqual([])
    boss = await theOneLeft(people)
  }
})
