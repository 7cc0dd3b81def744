import { createDatabase, type TestDatabase } from '@parley/test'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ensureFirstStart, verifyPassword } from './index.ts'

const config = {
  chat: { initialUser: { userName: 'Root', email: 'Root@Example.com', password: 'first password' } },
}
let database: TestDatabase
beforeEach(async () => {
  database = await createDatabase(20)
})
afterEach(() => database.drop())

const people = () => database.db.selectFrom('users').selectAll().execute()
const channels = () => database.db.selectFrom('channels').selectAll().execute()

describe('the first start', () => {
  test('creates an admin who may sign in, and General with them in it', async () => {
    expect(await ensureFirstStart(database.db, config)).toBe(true)

    const [admin, ...others] = await people()
    expect(admin).toMatchObject({ userName: 'Root', email: 'root@example.com', isAdmin: true, removedAt: null })
    expect(await verifyPassword('first password', admin!.passwordHash!)).toBe(true)
    expect(others).toEqual([])
    expect(await channels()).toMatchObject([{ name: 'General', kind: 'public', createdBy: admin!.id }])
    expect(await database.db.selectFrom('channelMembers').select('userId').execute()).toEqual([{ userId: admin!.id }])
    expect(await database.db.selectFrom('serverSettings').select('name').execute()).toEqual([{ name: 'Parley' }])
  })

  test('an invalid initial admin is refused with every error, by key, and nobody is created', async () => {
    const initialUser = { userName: 'Channel', email: 'x<root@example.com>', password: 'x'.repeat(1_001) }
    await expect(ensureFirstStart(database.db, { chat: { initialUser } })).rejects.toMatchObject({
      name: 'ConfigError',
      faults: [
        { key: 'chat.initialUser.userName', message: expect.stringContaining('userName must not be') },
        { key: 'chat.initialUser.email', message: expect.stringContaining('email must be an e-mail address') },
        { key: 'chat.initialUser.password', message: 'is longer than 1000 characters' },
      ],
    })
    expect(await people()).toEqual([])
  })

  test.each(['ʳoot@example.com', 'root@example..com', `${'r'.repeat(65)}@example.com`])(
    'with the address %s of the initial admin is refused',
    async (email) => {
      await expect(ensureFirstStart(database.db, { chat: { initialUser: { email } } })).rejects.toMatchObject({
        faults: [{ key: 'chat.initialUser.email', message: expect.stringContaining('e-mail address') }],
      })
      expect(await people()).toEqual([])
    },
  )

  test('without a password is refused in password mode without e-mail', async () => {
    const { email } = config.chat.initialUser
    const byPassword = { chat: { initialUser: { email } }, auth: { authMode: 'password' } }
    const refusal = { name: 'ConfigError', faults: [{ key: 'chat.initialUser.password' }] }
    await expect(ensureFirstStart(database.db, byPassword)).rejects.toMatchObject(refusal)
    expect(await people()).toEqual([])

    await ensureFirstStart(database.db, { chat: { initialUser: { email } } })
    await expect(ensureFirstStart(database.db, byPassword)).rejects.toMatchObject(refusal)
    expect(await ensureFirstStart(database.db, { ...byPassword, email: { host: 'smtp.example.com' } })).toBe(false)

    await ensureFirstStart(database.db, { chat: { initialUser: { email, password: 'first password' } } })
    expect(await ensureFirstStart(database.db, byPassword)).toBe(false)
  })

  test('happens once when ten processes start at once, even with different configurations', async () => {
    const configs = Array.from({ length: 10 }, (_, index) => ({
      chat: { initialUser: { userName: `Root ${index}`, email: `root${index}@example.com` } },
    }))
    const outcomes = await Promise.all(configs.map((each) => ensureFirstStart(database.db, each)))

    expect(outcomes.filter(Boolean)).toHaveLength(1)
    expect(await people()).toHaveLength(1)
    expect(await channels()).toHaveLength(1)
  })

  test('is never applied again: not to change a password, not when everybody has left', async () => {
    await ensureFirstStart(database.db, config)
    const other = { chat: { initialUser: { ...config.chat.initialUser, password: 'second password' } } }
    expect(await ensureFirstStart(database.db, other)).toBe(false)
    const [admin] = await people()
    expect(await verifyPassword('first password', admin!.passwordHash!)).toBe(true)

    await database.db.updateTable('users').set({ removedAt: 1 }).execute()
    expect(await ensureFirstStart(database.db, config)).toBe(false)
    expect(await people()).toHaveLength(1)
  })

  test('gives the initial admin a password later, while nobody has one', async () => {
    await ensureFirstStart(database.db, { chat: { initialUser: { userName: 'Root', email: 'root@example.com' } } })
    expect(await people()).toMatchObject([{ passwordHash: null }])
    const stranger = { chat: { initialUser: { ...config.chat.initialUser, email: 'stranger@example.com' } } }
    await ensureFirstStart(database.db, stranger)
    expect(await people()).toMatchObject([{ passwordHash: null }])

    await Promise.all([ensureFirstStart(database.db, config), ensureFirstStart(database.db, config)])
    const [admin] = await people()
    expect(await verifyPassword('first password', admin!.passwordHash!)).toBe(true)
  })
})
