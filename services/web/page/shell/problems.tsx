import { closeProblem, problems } from '../app/problems.ts'
import { t } from '../texts/texts.ts'
import { IconButton } from '../ui/icons.tsx'

/** Errors of what the person did, until they are closed. */
export const Problems = () => (
  <div class="toasts">
    {problems.value.map(({ id, text }) => (
      <div key={id} class="alert" role="alert">
        <span>{text}</span>
        <IconButton icon="close" name={t('Close')} onClick={() => closeProblem(id)} />
      </div>
    ))}
  </div>
)
