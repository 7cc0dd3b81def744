import { expect, test } from 'vitest'
import { refuseWeakPassword } from './weak-passwords.ts'

const ann = { email: 'ann.miller@example.com', userName: 'Ann the Great', displayName: 'Annabel Miller' }

test.each(['password', 'Password', 'PASSWORD1', 'iloveyou', 'qwertyuiop', 'ｐａｓｓｗｏｒｄ', ' 1234567890 '])(
  '%j is among the common ones',
  async (password) => {
    await expect(refuseWeakPassword(password, ann)).rejects.toMatchObject({ status: 400, code: 'weak_password' })
  },
)

test.each(['ann.miller@example.com', 'ANN.MILLER', 'ann the great', 'annabel miller'])(
  '%j is the name or address of its owner',
  async (password) => {
    await expect(refuseWeakPassword(password, ann)).rejects.toMatchObject({ status: 400, code: 'weak_password' })
    await refuseWeakPassword(password, { email: 'bob@example.com', displayName: null })
  },
)

test.each(['correct horse', 'password of ann', 'ann.miller@example.org!'])('%j is taken', async (password) => {
  await refuseWeakPassword(password, ann)
})
