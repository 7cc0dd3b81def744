import { useSignal } from '@preact/signals'
import { createPasskey, supportsPasskeys } from '../app/passkeys.ts'
import { client } from '../app/session.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { Field, Form } from '../ui/form.tsx'
import { Table } from '../ui/table.tsx'
import { useConfirmation } from './confirmation.tsx'
import type { Factors, Passkey } from './second-factors.ts'

/** The passkeys of the signed-in person. */
export function Passkeys({ factors, onChange }: { factors: Factors; onChange: () => Promise<void> }) {
  const { passkeyList } = factors
  const removing = useSignal<Passkey | null>(null)
  const { confirmed, dialog } = useConfirmation()
  const remove = (passkeyId: string) =>
    confirmed(async (body) => {
      await client.request('DELETE /auth/passkeys/:passkeyId', { params: { passkeyId }, body })
      await onChange()
    })
  const add = (name: string) =>
    confirmed(async (proof) => {
      const credential = await createPasskey(client, proof)
      await client.request('POST /auth/passkeys', { body: { name, credential } })
      await onChange()
    })
  return (
    <section>
      <h2>{t('Passkeys')}</h2>
      <p>{t('A passkey signs you in by fingerprint, face or PIN of a device, without a password.')}</p>
      {passkeyList.length > 0 && (
        <Table heads={[t('Name'), t('Since'), t('Last used')]} hasActions>
          {passkeyList.map((passkey) => (
            <tr ref={passFocus} key={passkey.id}>
              <th scope="row" dir="auto" id={`${passkey.id}-name`}>
                {passkey.name}
              </th>
              <td class="moment">{dateTimeOf(passkey.createdAt)}</td>
              <td class="moment">{passkey.lastUsedAt === null ? t('Never') : dateTimeOf(passkey.lastUsedAt)}</td>
              <td>
                <button
                  type="button"
                  class="button"
                  aria-describedby={`${passkey.id}-name`}
                  onClick={() => (removing.value = passkey)}
                >
                  {t('Remove')}
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {supportsPasskeys ? (
        <Form
          // Another key clears the name field after the passkey was added.
          key={passkeyList.length}
          name={t('Add passkey')}
          submitLabel={t('Add passkey')}
          onSubmit={({ name = '' }) => add(name.trim() || t('Passkey'))}
        >
          <Field label={t('Name')} hint={t('For example the name of the device')} name="name" maxLength={80} />
        </Form>
      ) : (
        <p>{t('Passkeys are not available in this browser at this address.')}</p>
      )}
      {removing.value && (
        <ConfirmRequest
          name={t('Remove passkey')}
          question={t('Nobody can sign in with {name} any more.', { name: removing.value.name })}
          confirmLabel={t('Remove')}
          onConfirm={() => remove(removing.value!.id)}
          onClose={() => (removing.value = null)}
        />
      )}
      {dialog}
    </section>
  )
}
