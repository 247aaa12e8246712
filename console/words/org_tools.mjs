// Words of webhook tools.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'tools.explain':
      'A tool is an address of yours that models may call. A persona names those it may use.',
    'tools.new': 'New tool',
    'tools.edit': 'Edit the tool',
    'tools.name_hint': 'What the model calls it: letters, digits, _ and -.',
    'tools.description': 'Description',
    'tools.description_hint': 'The model reads it to know when to call.',
    'tools.parameters': 'Parameters',
    'tools.parameters_hint': 'JSON Schema of an object.',
    'tools.timeout': 'Seconds until it must answer',
    'tools.timeout_short': 'Timeout',
    'tools.repeatable': 'May be called again when no answer came',
    'tools.repeatable_hint': 'Up to three tries, with the same webhook-id.',
    'tools.is_repeatable': 'repeatable',
    'tools.active_hint': 'An inactive one is left out of new runs.',
    'tools.remove_text':
      'New runs are not offered {name} any more, and a call of it in others is answered with ' +
      'tool.unknown.',
    'tools.try': 'Try',
    'tools.persona': 'With the persona',
    'tools.no_persona': 'No active persona has this tool, and a run needs one.',
    'tools.make_persona': 'Make one with this tool alone',
    'tools.try_persona': 'Tries {name}',
    'tools.try_message': 'Call the tool {name} with the arguments {arguments}',
  },
  {
    'tools.explain': '工具是模型可以调用的您的地址。角色指定它可用的工具。',
    'tools.new': '新建工具',
    'tools.edit': '编辑工具',
    'tools.name_hint': '模型使用的名称：字母、数字、_ 和 -。',
    'tools.description': '说明',
    'tools.description_hint': '模型据此判断何时调用。',
    'tools.parameters': '参数',
    'tools.parameters_hint': '对象的 JSON Schema。',
    'tools.timeout': '必须在多少秒内响应',
    'tools.timeout_short': '超时',
    'tools.repeatable': '未收到响应时可再次调用',
    'tools.repeatable_hint': '最多三次，webhook-id 不变。',
    'tools.is_repeatable': '可重复',
    'tools.active_hint': '停用的工具不提供给新的运行。',
    'tools.remove_text': '新的运行不再获得 {name}，其他运行中的调用将得到 tool.unknown。',
    'tools.try': '试用',
    'tools.persona': '使用角色',
    'tools.no_persona': '没有启用的角色拥有此工具，而运行需要一个。',
    'tools.make_persona': '创建仅含此工具的角色',
    'tools.try_persona': '试用 {name}',
    'tools.try_message': '请调用工具 {name}，参数为 {arguments}',
  },
);
