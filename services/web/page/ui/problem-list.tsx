import { t } from '../texts/texts.ts'
import { passFocus } from './focus.ts'
import { IconButton } from './icons.tsx'
import { closeProblem, problems } from './problems.ts'

/** The error sentences. Each is shown until the person closes it. */
export const ProblemList = () =>
  problems.value.map(({ id, text, wayOut }) => (
    <div key={id} ref={passFocus} class="alert" role="alert">
      <span>{text}</span>
      {wayOut && (
        <button
          type="button"
          class="link-button"
          onClick={() => {
            closeProblem(id)
            wayOut.onChoose()
          }}
        >
          {wayOut.label}
        </button>
      )}
      <IconButton icon="close" name={t('Close')} onClick={() => closeProblem(id)} />
    </div>
  ))
